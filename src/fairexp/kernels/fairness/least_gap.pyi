from fairexp.arrays import Floats, Ints
from fairexp.kernels.fairness.local_search import LocalSearch
from fairexp.kernels.fairness.owed import Owed
from fairexp.kernels.fairness.rounds import Round

class Words:
    classes: Ints
    count: Ints
    gain: Floats
    start: Ints
    low: Floats
    high: Floats
    least: Floats
    most: Floats
    def __init__(self, P: Floats, column: Ints, n_columns: int, sizes: Ints, keys: tuple[int, int]) -> None: ...

class LeastGap:
    n_top: int
    template: Ints
    gap: Floats
    bound: Floats
    def __init__(self, round: Round, owed: Owed, exchanges: LocalSearch, upper: Words, lower: Words) -> None: ...
    def search(self, known: Ints, max_nodes: int) -> None: ...
