"""Runs that differ by seed only, summed up: means, and how far the truth may lie from them."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fairexp.measures import (
    FIELD,
    FINAL_UF,
    HELDOUT_NDCG,
    MAX_UF,
    MEAN_ADDED_REGRET,
    MEAN_MISORDERED,
    MEAN_UF,
    ONLINE_NDCG,
    QUALIFIED_SHARE,
    SPEED,
    ZERO,
    Measure,
)

if TYPE_CHECKING:
    from fairexp.simulation import Result
    from fairexp.simulation.settings import RunSettings
    from fairexp.statistics.intervals import Effect

MEANS = (
    ONLINE_NDCG,
    HELDOUT_NDCG,
    MEAN_UF,
    FINAL_UF,
    QUALIFIED_SHARE,
    MEAN_ADDED_REGRET,
    MEAN_MISORDERED,
    SPEED,
)


@dataclass(frozen=True)
class Summary:
    """One ranker with one kind of user. `means` holds None where a measure does not apply.

    `max_unfairness` is the largest of any seed; `rounds` the fewest of any seed, which an interrupt may have cut;
    `irrelevant` the rule of its NDCG.
    """

    ranker: str
    user: str
    n_seeds: int
    rounds: int
    means: dict[Measure, Effect | None]
    max_unfairness: float | None
    irrelevant: str = ZERO

    def value(self, measure: Measure) -> float | None:
        """The mean over seeds, of unfairness at its largest the largest."""
        if measure == MAX_UF:
            return self.max_unfairness
        found = self.means.get(measure)
        return None if found is None else found.mean

    def half_width(self, measure: Measure) -> float | None:
        """Half the width of the mean's 95% interval; None for a single seed."""
        found = self.means.get(measure)
        return None if found is None else found.half_width

    @property
    def of_the_field(self) -> tuple[Measure, ...]:
        """The measures of the field that were asked for."""
        return tuple(measure for measure in self.means if measure in FIELD)


def summarise(runs: Sequence[RunSettings], results: Sequence[Result | None]) -> list[Summary]:
    """A summary for each ranker and user, in the order of `runs`; runs that never began are left out."""
    together: dict[tuple[str, str], list[Result]] = {}
    rule = runs[0].irrelevant if runs else ZERO
    for run, result in zip(runs, results, strict=True):
        if result is not None and result.rounds:
            together.setdefault((run.ranker, run.user), []).append(result)
    return [_sum_up(ranker, user, group, rule) for (ranker, user), group in together.items()]


def _sum_up(ranker: str, user: str, results: Sequence[Result], irrelevant: str) -> Summary:
    from fairexp.statistics.intervals import effect

    means: dict[Measure, Effect | None] = {}
    for measure in (*MEANS, *(extra for extra in FIELD if extra in results[0].measures)):
        values = [value for result in results if (value := result[measure]) is not None]
        means[measure] = effect(values) if len(values) == len(results) else None
    return Summary(
        ranker=ranker,
        user=user,
        n_seeds=len(results),
        rounds=min(result.rounds for result in results),
        means=means,
        max_unfairness=max((value for result in results if (value := result[MAX_UF]) is not None), default=None),
        irrelevant=irrelevant,
    )


def write_summary(path: Path, summaries: Sequence[Summary]) -> None:
    """Write the summaries as CSV: each mean with its half width beside it; empty where there is none."""
    measures = (*MEANS, *(summaries[0].of_the_field if summaries else ()))
    columns = [name for mean in measures for name in (mean.name, f"{mean} half width")]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["user", "ranker", "seeds", "rounds", "irrelevant", MAX_UF.name, *columns])
        for line in summaries:
            cells = [cell for mean in measures for cell in (line.value(mean), line.half_width(mean))]
            writer.writerow(
                [line.user, line.ranker, line.n_seeds, line.rounds, line.irrelevant, line.max_unfairness, *cells]
            )
