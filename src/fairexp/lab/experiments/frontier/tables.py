"""The frontier as tables, for CSV files and for one JSON file that holds all of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairexp.charts.style import display_name
from fairexp.lab.experiments.frontier.verdicts import Frontier
from fairexp.lab.experiments.paper.results import Results
from fairexp.lab.experiments.plan.sweeps import sweeps
from fairexp.measures import ONLINE_NDCG

Row = dict[str, Any]
POINTS, VERDICTS, HELD = "frontier_points", "frontier_verdicts", "frontier_held"


def point_rows(results: Results, found: Sequence[Frontier]) -> list[Row]:
    """Every point of every line, and whether another point of the same ranker beats it."""
    swept = sweeps(results.experiment)
    return [
        {
            **_place(one),
            "ranker": line.ranker,
            "parameter": swept[line.ranker].parameter if line.ranker in swept else "",
            "value": point.value,
            "unfairness": point.gap.mean,
            "unfairness low": point.gap.low,
            "unfairness high": point.gap.high,
            ONLINE_NDCG.name: point.quality.mean,
            "low": point.quality.low,
            "high": point.quality.high,
            "on its frontier": point in line.frontier,
            "pairs": point.quality.n,
        }
        for one in found
        for line in one.lines
        for point in line.points
    ]


def verdict_rows(results: Results, found: Sequence[Frontier]) -> list[Row]:
    """The reference against each rival's frontier, point by point."""
    swept = sweeps(results.experiment)
    return [
        {
            **_place(one),
            "reference": one.lines[0].ranker,
            "rival": each.rival,
            "parameter": swept[each.rival].parameter if each.rival in swept else "",
            "value": each.point.value,
            "unfairness": each.point.gap.mean,
            "rival's": each.point.quality.mean,
            "reference's": each.reference,
            "difference": None if each.difference is None else each.difference.mean,
            "low": None if each.difference is None else each.difference.low,
            "high": None if each.difference is None else each.difference.high,
            "p_holm": each.p,
            "verdict": each.verdict,
        }
        for one in found
        for each in one.verdicts
    ]


def held_rows(found: Sequence[Frontier]) -> list[Row]:
    """Which part of the frontier each ranker holds."""
    return [
        {
            **_place(one),
            "ranker": each.ranker,
            "share": each.share,
            "from and to": "; ".join(f"{low:.4g} to {high:.4g}" for low, high in each.spans),
        }
        for one in found
        for each in one.held
    ]


def frontier_tables(results: Results, found: Sequence[Frontier]) -> dict[str, list[Row]]:
    """All of it, by table."""
    return {POINTS: point_rows(results, found), VERDICTS: verdict_rows(results, found), HELD: held_rows(found)}


def frontier_record(results: Results, found: Sequence[Frontier]) -> dict[str, Any]:
    """The tables, and what they are of: titles and rounds of the data, seeds, folds, versions and the command."""
    experiment = results.experiment
    about = {
        "titles": results.overview["titles"],
        "rounds": {label: spec.rounds or experiment.rounds for label, spec in experiment.data.items()},
        "folds": {label: spec.fold_list for label, spec in experiment.data.items()},
        "seeds": experiment.seed_list,
        "rankers": {label: display_name(spec.ranker) for label, spec in experiment.rankers.items()},
        "versions": results.overview["versions"],
        "command": results.overview["command"],
    }
    return {"about": about, **frontier_tables(results, found)}


def _place(one: Frontier) -> Row:
    data, _, user = one.setting.rpartition("/")
    return {"data": data, "user": user, "measure": one.measure.name}
