from fairexp.kernels.search.lattice import Lattice
from fairexp.kernels.search.owed import Owed
from fairexp.kernels.search.rounds import Found, Round

class Halves:
    first: int
    best: Found
    looks: int
    def __init__(self, round: Round, owed: Owed, lattice: Lattice, lengths: tuple[int, int]) -> None: ...
