from fairexp.arrays import Ints

def n_states(k: int, n_groups: int) -> int: ...

class Lattice:
    n_states: int
    states: Ints
    depth: Ints
    child: Ints
    def __init__(self, k: int, n_groups: int) -> None: ...
