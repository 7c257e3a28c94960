"""Runs that differ by seed only, summed up: means, and how far the truth may lie from them."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairexp.simulation import Result
    from fairexp.simulation.settings import Settings

MEANS = (
    "online_ndcg",
    "offline_ndcg",
    "mean_unfairness",
    "final_unfairness",
    "qualified_share",
    "mean_added_regret",
    "mean_misordered_pairs",
    "rounds_per_second",
)


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds and the half width of its 95% confidence interval, None for a single seed."""

    mean: float
    half_width: float | None


@dataclass(frozen=True)
class Summary:
    """One ranker with one kind of user. `measures` holds None where a measure does not apply.

    `max_unfairness` is the largest of any seed; `rounds` the fewest of any seed, which an interrupt may have cut.
    """

    ranker: str
    user: str
    n_seeds: int
    rounds: int
    measures: dict[str, Estimate | None]
    max_unfairness: float | None


def estimate(values: Sequence[float]) -> Estimate:
    """The mean of `values` and the half width of its 95% confidence interval by Student's t.

    >>> estimate([1.0, 2.0, 3.0])
    Estimate(mean=2.0, half_width=2.484137711...)
    """
    n = len(values)
    mean = math.fsum(values) / n
    if n == 1:
        return Estimate(mean, None)
    from fairexp.experiments.claims.student import quantile

    variance = math.fsum((value - mean) ** 2 for value in values) / (n - 1)
    return Estimate(mean, quantile(n - 1, 0.975) * math.sqrt(variance / n))


def summarise(runs: Sequence[Settings], results: Sequence[Result | None]) -> list[Summary]:
    """A summary for each ranker and user, in the order of `runs`; runs that never began are left out."""
    together: dict[tuple[str, str], list[Result]] = {}
    for run, result in zip(runs, results, strict=True):
        if result is not None and result.rounds:
            together.setdefault((run.ranker, run.user), []).append(result)
    return [_sum_up(ranker, user, group) for (ranker, user), group in together.items()]


def _sum_up(ranker: str, user: str, results: Sequence[Result]) -> Summary:
    measures: dict[str, Estimate | None] = {}
    for name in MEANS:
        values = [getattr(result, name) for result in results]
        measures[name] = None if None in values else estimate(values)
    largest = [result.max_unfairness for result in results if result.max_unfairness is not None]
    return Summary(
        ranker=ranker,
        user=user,
        n_seeds=len(results),
        rounds=min(result.rounds for result in results),
        measures=measures,
        max_unfairness=max(largest, default=None),
    )


def write_summary(path: Path, summaries: Sequence[Summary]) -> None:
    """Write the summaries as CSV: each mean with its half width beside it; empty where there is none."""
    columns = [name for mean in MEANS for name in (mean, f"{mean}_half_width")]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["user", "ranker", "seeds", "rounds", "max_unfairness", *columns])
        for line in summaries:
            cells: list[float | None] = []
            for name in MEANS:
                measure = line.measures[name]
                cells += [None, None] if measure is None else [measure.mean, measure.half_width]
            writer.writerow([line.user, line.ranker, line.n_seeds, line.rounds, line.max_unfairness, *cells])
