"""Timing two things by turns, and saying whether their ratio keeps to a bar.

Machines are shared and their clocks wander, so nothing here is an absolute time: A and B take turns (A B A B ...), each
ratio is of two things that were measured within the same moments, and its interval comes from resampling the turns.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from fairexp.arrays import Floats

Action = Callable[[], Any]
Statistic = Callable[[Floats], float]
Part = Callable[[], "Iterable[Outcome]"]
"""What is measured together, and again where a row of it narrowly misses its bar."""

N_RESAMPLES = 2000
SPELL = 4
"""Turns that are resampled together (fewer where turns are few): noise comes in spells, so neighbours are alike."""
COVERAGE = (0.5, 99.5)
"""Percentiles of the resampled ratios between which the interval lies: 99%."""

NEAR = 2.0
"""A miss by a larger factor is no disturbance."""


@dataclass(frozen=True)
class Bar:
    """What a ratio is held to."""

    limit: float
    at_most: bool = True

    def kept(self, value: float) -> bool:
        return value <= self.limit if self.at_most else value >= self.limit

    def __str__(self) -> str:
        return f"{'at most' if self.at_most else 'at least'} {self.limit:g}x"


@dataclass(frozen=True)
class Outcome:
    """One row of the table: `ratio`, with the interval `low` to `high`, of `what` to `against`.

    `samples` sums up what was measured: for each side its number of samples, median, quartiles and extremes.
    """

    what: str
    against: str
    bar: Bar
    ratio: float
    low: float
    high: float
    samples: dict[str, dict[str, float]] = field(default_factory=dict)
    note: str = ""

    @property
    def verdict(self) -> str:
        """ "pass"; "noise" where the ratio lies beyond the bar but its interval reaches it; "miss" otherwise."""
        if self.bar.kept(self.ratio):
            return "pass"
        return "noise" if self.bar.kept(self.low) or self.bar.kept(self.high) else "miss"

    @property
    def is_near_miss(self) -> bool:
        """Whether the row misses its bar by less than other processes might have done."""
        factor = self.ratio / self.bar.limit
        return self.verdict == "miss" and max(factor, 1.0 / factor) < NEAR

    def record(self) -> dict[str, Any]:
        """The row as plain data."""
        return {**asdict(self), "bar": str(self.bar), "limit": self.bar.limit, "verdict": self.verdict}


def seconds(action: Action, *, times: int = 1) -> float:
    """How long one call takes, as the mean of `times` calls on end."""
    started = time.perf_counter()
    for _ in range(times):
        action()
    return (time.perf_counter() - started) / times


@contextmanager
def no_garbage() -> Iterator[None]:
    """No pause of the garbage collector inside."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def by_turns(
    a: Action, b: Action, *, turns: int, times: tuple[int, int] = (1, 1), warm_up: bool = True
) -> tuple[Floats, Floats]:
    """Seconds (turns,) of `a` and of `b`, measured by turns; `times` calls make a sample.

    With `warm_up` both are called once before; without, `a` alone is.
    """
    a()
    if warm_up:
        b()
    taken = np.empty((2, turns))
    with no_garbage():
        for turn in range(turns):
            taken[0, turn] = seconds(a, times=times[0])
            taken[1, turn] = seconds(b, times=times[1])
    return taken[0], taken[1]


def compare(what: str, against: str, bar: Bar, a: Floats, b: Floats, **extra: Any) -> Outcome:
    """The row for samples `a` (T,) of what is judged and `b` (T,) of what it is held against, taken by turns.

    Bars "at most" are on a / b; bars "at least" (so many times faster) are on b / a.
    """
    top, bottom = (a, b) if bar.at_most else (b, a)
    low, high = interval(top, bottom)
    ratio = float(np.median(top) / np.median(bottom))
    return Outcome(what, against, bar, ratio, low, high, samples={"what": spread(a), "against": spread(b)}, **extra)


def interval(top: Floats, bottom: Floats) -> tuple[float, float]:
    """The 99% interval of median(top) / median(bottom), both (T,), by resampling spells of neighbouring turns."""
    rng = np.random.default_rng(0)
    length = max(1, min(SPELL, len(top) // 5))
    starts = rng.integers(0, len(top), size=(N_RESAMPLES, -(-len(top) // length)))
    turns = (starts[:, :, None] + np.arange(length)).reshape(N_RESAMPLES, -1) % len(top)
    ratios = np.median(top[turns], axis=1) / np.median(bottom[turns], axis=1)
    return tuple(np.percentile(ratios, COVERAGE).tolist())


def resampled(values: Floats, statistic: Statistic) -> tuple[float, float]:
    """The 99% interval of a statistic of independent `values` (N,)."""
    rng = np.random.default_rng(0)
    draws = rng.integers(0, len(values), size=(N_RESAMPLES, len(values)))
    return tuple(np.percentile([statistic(values[draw]) for draw in draws], COVERAGE).tolist())


def spread(samples: Sequence[float] | Floats) -> dict[str, float]:
    """Number, median, quartiles and extremes."""
    names = ("smallest", "lower_quartile", "median", "upper_quartile", "largest")
    quantiles = np.percentile(samples, (0, 25, 50, 75, 100)).tolist()
    return {"samples": len(samples), **dict(zip(names, quantiles, strict=True))}
