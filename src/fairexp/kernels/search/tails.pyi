from fairexp.kernels.search.lattice import Lattice
from fairexp.kernels.search.rounds import Found, Round
from fairexp.kernels.search.subsets import Subsets
from fairexp.kernels.search.tolls import Tolls

class Tails:
    found: Found
    def __init__(self, round: Round, lattice: Lattice, tolls: Tolls, subsets: Subsets) -> None: ...
    def search(self, limit: float, max_looks: int) -> None: ...
