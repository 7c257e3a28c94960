from fairexp.arrays import Bools, Floats, Ints

WITHIN_BLOCK: dict[str, int]

def surely_far(s: Floats, squares: Floats, a: float, first: int, last: int) -> int: ...
def mark_certain(
    s: Floats, squares: Floats, G: Floats, a: float, first: int, certain: Bools, above: Ints, below: Ints, last: Ints
) -> None: ...
def explore(
    certain: Bools, last: Ints, above: Ints, below: Ints, keys: Floats, shuffled: Ints, within_block: int
) -> tuple[Ints, Ints]: ...
