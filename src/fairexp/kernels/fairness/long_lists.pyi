from fairexp.kernels.fairness.depth_first import DepthFirst
from fairexp.kernels.fairness.first_guess import FirstGuess
from fairexp.kernels.fairness.multipliers import Multipliers
from fairexp.kernels.fairness.rounds import Found, Round
from fairexp.kernels.fairness.tables import Tables

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
