"""The report's charts, from results: three panels for each setting, frontiers, and violations."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from fairexp.charts import charts, frontier_chart, violations_chart
from fairexp.charts.rows import Row, Summing
from fairexp.experiments.claims.evidence import added_regret
from fairexp.experiments.claims.results import Results
from fairexp.experiments.report.tables import is_synthetic_label
from fairexp.measures import HELDOUT_NDCG, MAX_UF, MEAN_ADDED_REGRET, MEAN_ONLINE_NDCG, MEAN_UF, ONLINE_NDCG, Measure
from fairexp.statistics.paired import Pair, effect_over

BINS = 15
"""Parts of a run that violations are averaged over, so that a trend shows."""


def with_intervals(rows: Sequence[Row], measure: Measure) -> list[Row]:
    """For each ranker and round: the mean of `measure` over (seed, fold) pairs, and its 95% interval, low to high."""
    values: dict[tuple[str, int], dict[Pair, float]] = {}
    for row in rows:
        if row[measure.name] is not None:
            values.setdefault((row["ranker"], row["round"]), {})[row["seed"]] = row[measure.name]
    points = []
    for (ranker, at), found in values.items():
        one = effect_over(found)
        low, high = (one.mean if bound is None else bound for bound in (one.low, one.high))
        if measure.by_ratio and one.mean > 0:  # on a logarithmic axis: symmetric there, and never below 0
            factor = math.exp(min((high - one.mean) / one.mean, 5.0))
            low, high = one.mean / factor, one.mean * factor
        if measure == MEAN_ADDED_REGRET:  # cannot be negative, whatever a symmetric interval says
            low = max(low, 0.0)
        points.append({"ranker": ranker, "round": at, "value": one.mean, "low": low, "high": high, "seeds": one.n})
    return points


INTERVALS = Summing(with_intervals, ("95% interval from", "to"))


def setting_charts(results: Results, setting: str) -> dict[str, Any]:
    """The paper's three panels: online NDCG, held-out NDCG and unfairness over rounds."""
    drawn = (MEAN_ONLINE_NDCG, HELDOUT_NDCG, MAX_UF)
    rows = [
        {"ranker": run.ranker, "seed": run.pair, "round": at} | {one.name: run.points[one.name][i] for one in drawn}
        for run in results.main
        if run.setting == setting
        for i, at in enumerate(run.points["round"])
    ]
    return charts(rows, tolerance=results.tolerance, over=INTERVALS)


def frontier_charts(results: Results) -> dict[str, Any]:
    """Utility against unfairness over tolerances, for each setting of the sweep, by the setting."""
    made = {}
    for setting in results.settings:
        swept = []
        for value in results.sweep_values:
            measured = (results.swept(setting, value, measure) for measure in (ONLINE_NDCG, MEAN_UF))
            row = _frontier_row(*measured)
            if row is not None:
                swept.append({**row, "tolerance": value})
        others = []
        for ranker in results.rankers:
            measures = (results.values(setting, ranker, measure) for measure in (ONLINE_NDCG, MEAN_UF))
            row = _frontier_row(*measures)
            if row is not None and ranker != results.fair:
                others.append({**row, "ranker": ranker})
        if swept:
            data, _, user = results.title(setting).rpartition(", ")
            made[setting] = frontier_chart(swept, others, title=data, subtitle=user)
    return made


def _frontier_row(online: Mapping[Pair, float], unfairness: Mapping[Pair, float]) -> Row | None:
    if not online or not unfairness:
        return None
    found = effect_over(online)
    gap = sum(unfairness.values()) / len(unfairness)
    return {ONLINE_NDCG.name: found.mean, "low": found.low, "high": found.high, MEAN_UF.name: max(gap, 1e-6)}


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
                made[f"{family}-{user}"] = violations_chart(rows, title=title, over=INTERVALS)
    return made


def families(results: Results) -> dict[str, list[str]]:
    """The data sets that are groupings of the same documents, by family; others stand alone."""
    found: dict[str, list[str]] = {}
    for label, spec in results.experiment.data.items():
        found.setdefault(spec.family or label, []).append(label)
    return found
