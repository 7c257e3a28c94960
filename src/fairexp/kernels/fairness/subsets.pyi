from fairexp.arrays import Floats, Ints

class Subsets:
    masks: Ints
    sums: Floats
    start: Ints
    worth: Floats
    n_positions: Ints
    def __init__(self, P: Floats) -> None: ...
