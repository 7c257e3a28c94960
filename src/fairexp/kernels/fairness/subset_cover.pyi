from fairexp.kernels.fairness.rounds import Found, Round
from fairexp.kernels.fairness.subsets import Subsets

class Cover:
    found: Found
    def __init__(self, round: Round, subsets: Subsets) -> None: ...
    def pair_cost(self, g: int, mask: int, h: int, other: int) -> int: ...
