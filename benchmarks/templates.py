"""The search for the best template against F, the matrix products of one MSLR-sized ranking."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.beliefs import Case, adversarial, typical
from benchmarks.harness import Action, Bar, Outcome, Part, no_garbage, resampled, seconds, spread
from benchmarks.workloads import floor
from fairexp.arrays import Floats
from fairexp.fairness import search as templates
from fairexp.fairness.search import TIES, BestTemplate, Demand, best_ranking

SHAPES = ((50, 2, 5.0), (10, 5, 5.0), (20, 3, 25.0))
PATIENCE = 0.05
"""Calls that take longer than this many seconds are not repeated."""
BUDGET = 12.0
"""Seconds for the cases of one row; where they do not suffice, the row says for how many they did."""


def parts(quick: bool) -> Iterator[Part]:
    """Medians at k=10 with 2 groups, and the 99th percentile at harder shapes."""
    count = 100 if quick else 400
    yield partial(small_rows, count)
    for made, limit in ((typical, 1.0), (adversarial, 4.0)):
        yield partial(several_row, made(10, 2, count=count), made.__name__, limit)
    for length, n_groups, limit in SHAPES:
        for made in (typical, adversarial):
            for ties in TIES:
                yield partial(tail_row, made(length, n_groups, count=count), ties, limit, made.__name__)


def small_rows(count: int) -> Iterator[Outcome]:
    """The median over typical beliefs at k=10 with 2 groups, of the public function and of its kernel alone."""
    cases = typical(10, 2, count=count)
    for name, limit, calls in (
        ("best_template", 0.25, [partial(case.solve, "draw") for case in cases]),
        ("its kernel alone", 0.08, [kernel_call(case) for case in cases]),
    ):
        taken, floors, _ = times(calls)
        yield ratio_row(f"{name}, k=10, 2 groups, median", Bar(limit), taken, floors, 50.0)


def several_row(cases: list[Case], kind: str, limit: float) -> Iterator[Outcome]:
    """The 99th percentile with a second constraint of two groups, and for how many cases the search proved its find."""
    rng = np.random.default_rng(0)
    calls = []
    for case in cases:
        own = Demand(case.groups, case.spent, case.shares, case.tolerance)
        other = Demand(rng.integers(0, 2, len(case.order)), rng.random(2), np.ones(2), case.tolerance)
        calls.append(partial(best_ranking, case.order, [own, other], case.certain_order, exposure=case.exposure))
    taken, floors, found = times(calls)
    note = f"proved optimal in {np.mean([best.exact for best in found]):.1%} of {len(found)}"
    what = f"best_ranking, k=10, 2 constraints of 2 groups, {kind}, 99th percentile"
    yield ratio_row(what, Bar(limit), taken, floors, 99.0, note=note)


def tail_row(cases: list[Case], ties: str, limit: float, kind: str) -> Iterator[Outcome]:
    """The 99th percentile over cases, and for how many of them the search proved that nothing is better."""
    taken, floors, found = times([partial(case.solve, ties) for case in cases])
    left = np.mean([best.added_regret - best.regret_bound for best in found])
    share = np.mean([best.exact for best in found])
    note = (
        f"proved optimal in {share:.1%} of {len(found)}; regret {mean_regret(found):.1f}, at most {left:.1f} too much"
    )
    shape = f"k={len(cases[0].exposure)}, {len(cases[0].shares)} groups"
    what = f"best_template, {shape}, {kind}, ties={ties!r}, 99th percentile"
    yield ratio_row(what, Bar(limit), taken, floors, 99.0, note=note)


def mean_regret(found: Sequence[BestTemplate]) -> float:
    return float(np.mean([best.added_regret for best in found]))


def ratio_row(what: str, bar: Bar, taken: Floats, floors: Floats, percentile: float, *, note: str = "") -> Outcome:
    """A percentile of the calls' seconds (N,) over the median of the floor's (N,), taken by turns."""
    ratios = taken / np.median(floors)
    low, high = resampled(ratios, lambda values: float(np.percentile(values, percentile)))
    return Outcome(
        what=what,
        against="F",
        bar=bar,
        ratio=float(np.percentile(ratios, percentile)),
        low=low,
        high=high,
        samples={"what": spread(taken), "against": spread(floors)},
        note=note,
    )


def times(calls: Sequence[Action], *, repeats: int = 5) -> tuple[Floats, Floats, list[Any]]:
    """Seconds (N,) of each call, of F beside it (N,), and what the calls returned.

    A call counts with the smallest of a few repeats: what is slow must be the search's doing, not the machine's.
    """
    products = floor()
    taken, floors, found = [], [], []
    calls[0](), products()
    until = time.perf_counter() + BUDGET
    with no_garbage():
        for call in calls:
            found.append(call())
            first = seconds(call)
            taken.append(min([first] + [seconds(call) for _ in range(repeats if first < PATIENCE else 0)]))
            floors.append(min(seconds(products) for _ in range(3)))
            if time.perf_counter() > until:
                break
    return np.array(taken), np.array(floors), found


class Recorder:
    """Stands for a search, and notes the arguments of the last call of each of its methods."""

    def __init__(self, search: Any) -> None:
        self.search = search
        self.arguments: dict[str, tuple[Any, ...]] = {}

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.search, name)
        if not callable(found):
            return found

        def call(*arguments: Any) -> Any:
            self.arguments[name] = arguments
            return found(*arguments)

        return call


def kernel_call(case: Case) -> Any:
    """The calls of the compiled search that `best_template` makes for this case, their arguments ready."""
    searches = templates.Searches(case.exposure.tobytes(), len(case.shares))
    search = searches.take()
    recorder: Any = Recorder(search)
    searches.idle.append(recorder)
    with patch.object(templates, "_searches", return_value=searches):
        case.solve("draw")
    begin, within = (partial(getattr(search, name), *recorder.arguments[name]) for name in ("begin", "within"))

    def both() -> Any:
        begin()
        within()
        return search.answer()

    return both
