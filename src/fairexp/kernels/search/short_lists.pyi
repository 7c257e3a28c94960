from fairexp.kernels.search.covers import Cover
from fairexp.kernels.search.depth_first import DepthFirst
from fairexp.kernels.search.rounds import Found, Round

class ShortLists:
    best: Found
    bound: int
    gap_bound: float
    def __init__(self, round: Round, walk: DepthFirst, cover: Cover) -> None: ...
