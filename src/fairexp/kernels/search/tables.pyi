from fairexp.kernels.search.lattice import Lattice
from fairexp.kernels.search.rounds import Corridors, Round
from fairexp.kernels.search.tolls import Tolls

class Tables:
    count: int
    n_cells: int
    shift: int
    def __init__(self, round: Round, lattice: Lattice, tolls: Tolls) -> None: ...
    def build(self, top: int, max_cells: int) -> None: ...
    def least_ahead(self, t: int, s: int, p: int, within: Corridors, enough: int) -> int: ...
