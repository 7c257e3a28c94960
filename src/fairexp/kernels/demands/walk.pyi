from fairexp.kernels.demands.owed import Owed
from fairexp.kernels.search.reach import Reach
from fairexp.kernels.search.rounds import Found, Round

class Walk:
    found: Found
    bound: int
    finished: bool
    refused: bool
    def __init__(self, round: Round, owed: Owed, reach: Reach) -> None: ...
