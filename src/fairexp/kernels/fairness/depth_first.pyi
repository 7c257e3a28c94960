from fairexp.kernels.fairness.lattice import Lattice
from fairexp.kernels.fairness.reach import Reach
from fairexp.kernels.fairness.rounds import Found, Round
from fairexp.kernels.fairness.tables import Tables

class DepthFirst:
    found: Found
    def __init__(
        self,
        round: Round,
        reach: Reach,
        lattice: Lattice | None = None,
        tables: Tables | None = None,
    ) -> None: ...
