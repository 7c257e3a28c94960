from fairexp.arrays import Bools, Bytes, Floats, Ints

class Draw:
    def __init__(self, order: Ints, groups: Ints, regret: Bools | Bytes, row: Ints) -> None: ...

class Aim:
    def __init__(
        self, spent: Floats, shares: Floats, tolerance: float, displayed_only: bool, fairest: bool, keys: Ints
    ) -> None: ...

class Effort:
    plain_nodes: int
    max_nodes: int
    max_cells: int
    resolution: float
    def __init__(self, plain_nodes: int, max_nodes: int, max_cells: int, resolution: float) -> None: ...

class Found:
    found: bool
    cost: int
    gap: float
    nodes: int
    template: Ints
    def __init__(self, k: int) -> None: ...

class Round:
    k: int
    n_groups: int
    P: Floats
    total: float
    spent: Floats
    w: Floats
    size: Ints
    queue: Ints
    place: Ints
    cost: Ints
    def __init__(self, P: Floats, n_groups: int) -> None: ...
    def begin(self, draw: Draw, aim: Aim) -> None: ...
    def price(self, template: Ints) -> int: ...

class Corridors:
    limit: float
    lower: Floats
    upper: Floats
    E: Floats
    def __init__(self, round: Round) -> None: ...
    def narrow(self, limit: float) -> None: ...

def is_permutation(order: Ints) -> bool: ...
