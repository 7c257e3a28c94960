"""The report's charts, from results: three panels for each setting, frontiers, and violations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairexp.charts import Manner, charts, frontier_chart, reliability_chart, violations_chart
from fairexp.charts.rows import Row, Summing
from fairexp.lab.experiments.frontier.lines import Point, unfair_points
from fairexp.lab.experiments.frontier.verdicts import Frontier
from fairexp.lab.experiments.paper.evidence import added_regret
from fairexp.lab.experiments.paper.results import Results
from fairexp.lab.experiments.report.tables import is_synthetic_label
from fairexp.lab.simulation.result import RELIABILITY
from fairexp.measures import (
    HELDOUT_NDCG,
    IRRELEVANT,
    MAX_UF,
    MEAN_ADDED_REGRET,
    MEAN_ONLINE_NDCG,
    UF,
    Measure,
)
from fairexp.reliability import from_summary, pooled
from fairexp.statistics import Pair, Shared, effect_over, independent

BINS = 15
"""Parts of a run that violations are averaged over, so that a trend shows."""


def intervals(results: Results, setting: str) -> Summing:
    """Means over (seed, fold) pairs with their 95% intervals, of a setting whose folds may share queries."""
    return Summing(lambda rows, measure: with_intervals(rows, measure, results.shared(setting, measure)), ENDS)


def with_intervals(rows: Sequence[Row], measure: Measure, shared: Shared = independent) -> list[Row]:
    """For each ranker and round: the mean of `measure` over (seed, fold) pairs, and its 95% interval, low to high.

    What is drawn cannot be negative, whatever a symmetric interval says: bands end at 0.
    """
    values: dict[tuple[str, int], dict[Pair, float]] = {}
    for row in rows:
        if row[measure.name] is not None:
            values.setdefault((row["ranker"], row["round"]), {})[row["seed"]] = row[measure.name]
    points = []
    for (ranker, at), found in values.items():
        one = effect_over(found, shared)
        low, high = (one.mean if bound is None else max(bound, 0.0) for bound in (one.low, one.high))
        points.append({"ranker": ranker, "round": at, "value": one.mean, "low": low, "high": high, "seeds": one.n})
    return points


ENDS = ("95% interval from", "to")


def setting_charts(results: Results, setting: str) -> dict[str, Any]:
    """The paper's three panels: online NDCG, held-out NDCG and unfairness over rounds."""
    drawn = (MEAN_ONLINE_NDCG, HELDOUT_NDCG, UF, MAX_UF)
    rows = [
        {"ranker": results.name(run.ranker), "seed": run.pair, "round": at}
        | {one.name: run.points[one.name][i] for one in drawn}
        for run in results.main
        if run.setting == setting
        for i, at in enumerate(run.points["round"])
    ]
    fair = None if results.fair is None else results.name(results.fair)
    manner = Manner(over=intervals(results, setting), irrelevant=results.experiment.irrelevant, fair=fair)
    return charts(rows, manner, tolerance=results.tolerance)


def frontier_charts(results: Results, found: Sequence[Frontier]) -> dict[str, Any]:
    """Utility against unfairness over the trade-offs of all fair rankers, by setting and measure."""
    made = {}
    for one in found:
        rows = [{**_frontier_row(point), "kept": point in line.frontier} for line in one.lines for point in line.points]
        rows += [{**_frontier_row(point), "kept": True} for point in unfair_points(results, one.setting, one.measure)]
        data, _, user = results.title(one.setting).rpartition(", ")
        made[frontier_name(one)] = frontier_chart(
            rows, one.measure, title=data, subtitle=f"{user}; {IRRELEVANT[results.experiment.irrelevant]}"
        )
    return made


def frontier_name(one: Frontier) -> str:
    """How the chart of a frontier is called: by the setting, and by the measure where it is not the largest gap."""
    return one.setting if one.measure == MAX_UF else f"{one.setting}-{one.measure.name.replace(' ', '-')}"


def _frontier_row(point: Point) -> Row:
    quality = point.quality
    return {
        "ranker": point.ranker,
        "value": point.value,
        "online": quality.mean,
        "low": quality.low,
        "high": quality.high,
        "unfairness": point.gap.mean,
    }


def violation_charts(results: Results) -> dict[str, Any]:
    """Added regret per round of the fair ranker, a line for each grouping of the same data, by data and user."""
    made = {}
    for user in dict.fromkeys(setting.rpartition("/")[2] for setting in results.settings):
        for family, labels in families(results).items():
            rows = [
                {
                    "ranker": run.data,
                    "seed": run.pair,
                    "round": round(run.points["round"][-1] * (part + 0.5) / BINS),
                    MEAN_ADDED_REGRET.name: added_regret(run, part / BINS, (part + 1) / BINS),
                }
                for run in results.main
                if run.user == user and run.ranker == results.fair and run.data in labels
                for part in range(BINS)
            ]
            if rows:
                synthetic = any(is_synthetic_label(results, label) for label in labels)
                title = f"{family}{' (synthetic)' if synthetic else ''}, {user} users"
                over = intervals(results, f"{labels[0]}/{user}")
                made[f"{family}-{user}"] = violations_chart(rows, title=title, over=over)
    return made


def reliability_charts(results: Results) -> dict[str, Any]:
    """How far beliefs were borne out, by clicks and by grades: all runs of a setting and ranker that has such."""
    made = {}
    for setting in results.settings:
        for ranker in results.rankers:
            own = [run for run in results.main if run.setting == setting and run.ranker == ranker]
            found = [from_summary(run.result[RELIABILITY]) for run in own if RELIABILITY in run.result]
            if found:
                made[f"{setting}-{ranker}"] = reliability_chart(pooled(found), title=results.name(ranker))
    return made


def families(results: Results) -> dict[str, list[str]]:
    """The data sets that are groupings of the same documents, by family; others stand alone."""
    found: dict[str, list[str]] = {}
    for label, spec in results.experiment.data.items():
        found.setdefault(spec.family or label, []).append(label)
    return found
