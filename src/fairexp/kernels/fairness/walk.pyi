from fairexp.kernels.fairness.dual_prices import DualPrices
from fairexp.kernels.fairness.owed import Owed
from fairexp.kernels.fairness.reach import Reach
from fairexp.kernels.fairness.rounds import Found, Round

class Walk:
    found: Found
    bound: int
    finished: bool
    refused: bool
    def __init__(self, round: Round, owed: Owed, reach: Reach, tolls: DualPrices | None = None) -> None: ...
