"""Promises about learning: feedback in any order, states that continue exactly, bounded memory, no NaN."""

from __future__ import annotations

import io

import numpy as np

from fairexp.arrays import State
from fairexp.checks.comparison import copy_of, first_difference, size_of
from fairexp.checks.failure import demand, keeping
from fairexp.checks.worlds import World

GROWTH = 1.1
"""A ranker may hold this much more in the last third of a long run than in the second."""


def check_feedback(world: World) -> None:
    """Feedback may come late, out of order, or never."""
    promise = "late, out-of-order and missing feedback is accepted"
    ranker = world.make(world.seed)
    with keeping(promise):
        rankings = [ranker.rank(world.query(number)) for number in range(world.n_short)]
        for ranking in rankings[::-2]:
            ranker.update(ranking, world.click(ranking, ranking.number))
        demand_sound(ranker.state(), promise)
        world.play(ranker, 5)
        ranker.update(rankings[0], world.click(rankings[0], 0))
        demand_sound(ranker.state(), promise)


def check_restore(world: World) -> None:
    """A state saved without pickle and restored into a fresh ranker continues bit for bit."""
    promise = "a restored state continues bit for bit"
    with keeping(promise):
        original = world.make(world.seed)
        world.play(original, world.n_short)
        waiting = [original.rank(world.query(number)) for number in range(3)]
        state = original.state()
        kept = copy_of(state)
        saved = _through_a_file(state, promise)
        restored = world.make(world.seed + 1).restore(saved)
        different = first_difference(kept, restored.state())
        demand(different is None, promise, f"{different!r} of the state differs right after restore()")
        for number, ranking in enumerate(waiting):
            for ranker in (original, restored):
                ranker.update(ranking, world.click(ranking, number))
        rankings, copies = world.play(original, world.n_short), world.play(restored, world.n_short)
        for number, (one, two) in enumerate(zip(rankings, copies, strict=True)):
            same = np.array_equal(one.shown, two.shown)
            demand(same, promise, f"{number} rounds later the original showed {one.shown}, the restored {two.shown}")
            same = one.scores.tobytes() == two.scores.tobytes()
            demand(same, promise, f"{number} rounds later the original scored {one.scores}, the restored {two.scores}")
        different = first_difference(original.state(), restored.state())
        demand(different is None, promise, f"{different!r} of the state differs after {world.n_short} more rounds")
        for name, arrays in (("state() returned", state), ("restore() was given", saved)):
            changed = first_difference(kept, arrays)
            demand(changed is None, promise, f"what {name} changed in {changed!r} as learning went on; copy it")


def check_replay(world: World) -> None:
    """Recorded rankings and clicks, replayed into a copy of the beginning, lead to the same state bit for bit."""
    promise = "replayed rankings lead to the same state"
    with keeping(promise):
        original = world.make(world.seed)
        copy = world.make(world.seed).restore(copy_of(original.state()))
        for number in range(world.n_short):
            shorter = 1 + number % original.length if number % 2 else None
            ranking = original.rank(world.query(number), length=shorter)
            copy.replay(ranking)
            for ranker in (original, copy) if number % 3 else ():
                ranker.update(ranking, world.click(ranking, number))
        different = first_difference(original.state(), copy.state())
        demand(different is None, promise, f"{different!r} of the state differs; note what was shown in _shown() only")


def _through_a_file(state: State, promise: str) -> State:
    for name, value in state.items():
        is_plain = isinstance(value, np.ndarray) and value.dtype.kind in "biufSU"
        demand(is_plain, promise, f"{name!r} of the state is a {type(value).__name__}, expected a plain array")
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **state)
    file.seek(0)
    with np.load(file, allow_pickle=False) as saved:
        return {name: saved[name] for name in saved.files}


def check_memory(world: World) -> None:
    """What a ranker holds stops growing, unless it says `keeps_history = True`."""
    promise = "memory is bounded"
    ranker = world.make(world.seed)
    if getattr(ranker, "keeps_history", False):
        return
    third = max(world.rounds // 3, 1)
    peaks = {"state()": [0, 0, 0], "the ranker": [0, 0, 0]}
    with keeping(promise):
        for number in range(3 * third):
            world.play(ranker, 1, start=number)
            sizes = {"state()": sum(value.nbytes for value in ranker.state().values()), "the ranker": size_of(ranker)}
            for name, size in sizes.items():
                peaks[name][number // third] = max(peaks[name][number // third], size)
    for name, (first, second, last) in peaks.items():
        demand(
            last <= GROWTH * second,
            promise,
            f"{name} held up to {first}, {second}, {last} bytes in the three thirds of {3 * third} rounds. Summarise "
            f"the past, or set keeps_history = True on the class",
        )


def check_awkward(world: World) -> None:
    """Duplicates, zeros, huge numbers, no click and all clicked never bring NaN."""
    promise = "awkward queries and clicks leave the state without NaN"
    ranker = world.make(world.seed)
    for query in world.awkward:
        for number in range(5):
            with keeping(f"{promise} ({query.query_id})"):
                ranking = ranker.rank(query)
                clicks = world.click(ranking, number)
                ranker.update(ranking, clicks)
                demand_sound(ranker.state(), f"{promise} ({query.query_id})")


def demand_sound(state: State, promise: str) -> None:
    """Raise a `CheckFailed` if any number of the state is NaN."""
    for name, value in state.items():
        numbers = np.asarray(value)
        sound = numbers.dtype.kind != "f" or not np.isnan(numbers).any()
        demand(sound, promise, f"{name!r} of the state contains NaN")
