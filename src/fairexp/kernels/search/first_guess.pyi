from fairexp.kernels.search.lattice import Lattice
from fairexp.kernels.search.multipliers import Multipliers
from fairexp.kernels.search.rounds import Found, Round
from fairexp.kernels.search.subsets import Subsets

class FirstGuess:
    found: Found
    def __init__(self, round: Round, lattice: Lattice, multipliers: Multipliers, subsets: Subsets) -> None: ...
    def search(self, limit: float, max_looks: int) -> None: ...
