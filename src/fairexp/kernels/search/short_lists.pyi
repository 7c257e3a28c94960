from fairexp.kernels.search.covering import Cover
from fairexp.kernels.search.rounds import Found, Round
from fairexp.kernels.search.walk import Walk

class ShortLists:
    best: Found
    bound: int
    gap_bound: float
    def __init__(self, round: Round, walk: Walk, cover: Cover) -> None: ...
