from fairexp.arrays import Bools, Floats, Ints

def smallest_counts(classes: Ints, rows: Ints, counts: Floats) -> Floats: ...
def least_counted(classes: Ints, counts: Floats) -> Bools: ...
def count_batches(
    rows: Ints,
    shown: Ints,
    clicks: Bools,
    due: Bools,
    noted_batch: Ints,
    noted_stage: Ints,
    batch: Ints,
    stage: Ints,
    counts: Floats,
    clicked: Floats,
    enough: float,
) -> Ints: ...
def is_mixed(classes: Ints, rows: Ints, batch: Ints, stage: Ints) -> bool: ...
def is_unsettled(lists: Ints, first: Ints, phase: Ints, quota: Ints, counts: Floats) -> bool: ...
def with_trials(
    order: Ints, lists: Ints, first: Ints, phase: Ints, quota: Ints, counts: Floats, fresh: Bools, chances: Floats
) -> Ints: ...
def part_orders(order: Ints, lists: Ints, first: Ints, phase: Ints) -> tuple[Floats, Ints, Bools]: ...
def count_trials(
    rows: Ints,
    shown: Ints,
    clicks: Bools,
    lists: Ints,
    noted_first: Ints,
    noted_phase: Ints,
    first: Ints,
    phase: Ints,
    counts: Floats,
    clicked: Floats,
) -> None: ...
