from fairexp.kernels.search.rounds import Found, Round
from fairexp.kernels.search.tables import Tables
from fairexp.kernels.search.tails import Tails
from fairexp.kernels.search.tolls import Tolls
from fairexp.kernels.search.walk import Walk

class LongLists:
    best: Found
    bound: int
    gap_bound: float
    def __init__(
        self, round: Round, walk: Walk, tolls: Tolls | None, tables: Tables | None, tails: Tails | None
    ) -> None: ...
