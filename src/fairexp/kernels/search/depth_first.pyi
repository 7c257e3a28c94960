from fairexp.kernels.search.lattice import Lattice
from fairexp.kernels.search.reach import Reach
from fairexp.kernels.search.rounds import Found, Round
from fairexp.kernels.search.tables import Tables

class DepthFirst:
    found: Found
    def __init__(
        self,
        round: Round,
        reach: Reach,
        lattice: Lattice | None = None,
        tables: Tables | None = None,
    ) -> None: ...
