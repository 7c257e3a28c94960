from fairexp.kernels.search.depth_first import DepthFirst
from fairexp.kernels.search.first_guess import FirstGuess
from fairexp.kernels.search.multipliers import Multipliers
from fairexp.kernels.search.rounds import Found, Round
from fairexp.kernels.search.tables import Tables

class LongLists:
    best: Found
    bound: int
    gap_bound: float
    def __init__(
        self,
        round: Round,
        walk: DepthFirst,
        multipliers: Multipliers | None,
        tables: Tables | None,
        first_guess: FirstGuess | None,
    ) -> None: ...
