"""The page's charts as Vega-Lite, from a policy's fairness report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fairexp.charts.curves import unfairness_chart
from fairexp.charts.drawing import HEIGHT, WIDTH, Frame, draw, dressed
from fairexp.charts.extra import altair
from fairexp.charts.labels import Axis
from fairexp.charts.style import FAIR_COLOURS

LEAST_TOLERANCE = 0.01
"""The scale is linear up to the tolerance, which takes a tolerance above 0."""


def live_charts(report: dict[str, Any], *, ranker: str, theme: str) -> dict[str, Any]:
    """Charts by name; none before the first ranking."""
    history = report["history"]
    if not history["round"]:
        return {}
    made: dict[str, Any] = {}
    if report["groups"]:
        made["unfairness"] = _unfairness(history, ranker, report["tolerance"], theme)
        made["exposure"] = _exposure(history, report["groups"], theme)
    if report["tolerance"] is not None:
        made["regret"] = _rate(history, "added_regret", "Added regret", "certain orders reversed, per ranking", theme)
        made["qualified"] = _rate(history, "qualified", "Qualified", "share of rankings within the tolerance", theme)
    made["clicks"] = _clicks(report["clicks_by_position"], theme)
    return {name: chart.to_dict(validate=False) for name, chart in made.items()}


def _unfairness(history: dict[str, Any], ranker: str, tolerance: float | None, theme: str) -> Any:
    rows = [
        {"ranker": ranker, "user": "live", "seed": 0, "round": at, "unfairness": gap}
        for at, gap in zip(history["round"], history["largest_gap"], strict=True)
    ]
    return unfairness_chart(rows, tolerance=max(tolerance or LEAST_TOLERANCE, LEAST_TOLERANCE), theme=theme)


def _exposure(history: dict[str, Any], groups: Sequence[dict[str, Any]], theme: str) -> Any:
    rounds = np.array(history["round"])
    points = []
    for group in groups:
        received = np.array(history["exposure"][group["group"]]) / group["share"] / rounds
        points += _points(group["group"], history["round"], received)
    subtitle = "per ranking and unit of share; lines that meet are fair"
    return _drawn(points, "Exposure by group", subtitle, "exposure", theme)


def _rate(history: dict[str, Any], column: str, title: str, subtitle: str, theme: str) -> Any:
    values = np.array(history[column]) / np.array(history["round"])
    return _drawn(_points("so far", history["round"], values), title, subtitle, "mean so far", theme)


def _points(name: str, rounds: Sequence[int], values: Any) -> list[dict[str, Any]]:
    return [
        {"ranker": name, "round": at, "value": value, "low": value, "high": value, "seeds": 1}
        for at, value in zip(rounds, np.asarray(values).tolist(), strict=True)
    ]


def _drawn(points: list[dict[str, Any]], title: str, subtitle: str, value: str, theme: str) -> Any:
    top = max(point["value"] for point in points) or 1.0
    frame = Frame(title=title, subtitle=subtitle, value=value, axis=Axis(0.0, 1.08 * top), theme=theme)
    return draw(points, frame)


def _clicks(positions: Sequence[dict[str, Any]], theme: str) -> Any:
    alt = altair()
    bars = [
        {"position": each["position"], "rate": each["clicks"] / each["shown"], "shown": each["shown"]}
        for each in positions
        if each["shown"]
    ]
    chart = alt.Chart(alt.Data(values=bars)).mark_bar(color=FAIR_COLOURS[theme])
    encoded = chart.encode(
        x=alt.X("position:O", title="position", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("rate:Q", title="clicks per showing", axis=alt.Axis(tickCount=5, format="%")),
        tooltip=["position:O", alt.Tooltip("rate:Q", format=".1%"), alt.Tooltip("shown:Q", format=",d")],
    )
    title = alt.TitleParams("Clicks by position", subtitle="of all that was shown there")
    return dressed(alt.layer(encoded, title=title, width=WIDTH, height=HEIGHT), theme)
