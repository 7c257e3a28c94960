from fairexp.kernels.demands.tolls import Tolls
from fairexp.kernels.search.owed import Owed
from fairexp.kernels.search.reach import Reach
from fairexp.kernels.search.rounds import Found, Round

class Walk:
    found: Found
    bound: int
    finished: bool
    refused: bool
    def __init__(self, round: Round, owed: Owed, reach: Reach, tolls: Tolls | None = None) -> None: ...
