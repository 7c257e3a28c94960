from fairexp.kernels.fairness.lattice import Lattice
from fairexp.kernels.fairness.owed import Owed
from fairexp.kernels.fairness.rounds import Found, Round

class MeetInTheMiddle:
    first: int
    best: Found
    looks: int
    def __init__(self, round: Round, owed: Owed, lattice: Lattice, lengths: tuple[int, int]) -> None: ...
