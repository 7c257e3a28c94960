"""The page's charts as Vega-Lite, from a policy's reports and from how long its latest rankings took."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from fairexp.charts.curves import Manner, unfairness_chart
from fairexp.charts.drawing import HEIGHT, WIDTH, Frame, draw, dressed
from fairexp.charts.extra import altair
from fairexp.charts.labels import Axis
from fairexp.charts.style import COLOURS, FAIR_COLOURS
from fairexp.measures import UF

EDGES_MS = (0, 1, 2, 3, 5, 7.5, 10, 15, 25, 50, 100, 250, 500, 1000, 2500)
"""Where bars of the chart of times begin and end."""

LATELY = 12
"""The chart of clicks looks back over this part of the rounds drawn."""

LARGER = {"axis": {"labelFontSize": 13, "titleFontSize": 14}, "title": {"fontSize": 19, "subtitleFontSize": 14}}
"""Letters a little larger than in a report: the page shrinks its charts to fit side by side."""

LEAST_TOLERANCE = 0.01
"""The scale is linear up to the tolerance, which takes a tolerance above 0."""


def live_charts(
    report: dict[str, Any], *, ranker: str, theta: dict[str, Any] | None, seconds: Sequence[float], theme: str
) -> dict[str, Any]:
    """Charts by name; none before the first ranking.

    `report` is a fairness report, `theta` the model in short where there is one, `seconds` how long rankings took.
    """
    history = report["history"]
    if not history["round"]:
        return {}
    made: dict[str, Any] = {}
    for number, each in enumerate(report["constraints"]):
        end, by = (f"-{number}" if number else ""), (each["constraint"] if len(report["constraints"]) > 1 else "")
        own = {"round": history["round"], **each["history"]}
        if np.isnan(own["largest_gap"]).all():  # it is new, and nothing was ranked with it yet
            continue
        made[f"unfairness{end}"] = _unfairness(own, ranker, each["tolerance"], theme, by)
        made[f"exposure{end}"] = _exposure(own, each, theme, by)
    if report["tolerance"] is not None:
        made["regret"] = _rate(history, "added_regret", "Added regret", "certain orders reversed, per ranking", theme)
        made["qualified"] = _rate(history, "qualified", "Qualified", "share of rankings within the tolerance", theme)
    made["clicks"] = _clicks(report["clicks_by_position"], theme)
    made["learning"] = _learning(history, theme)
    if theta is not None:
        made["weights"] = _weights(theta, theme)
    if seconds:
        made["latency"] = _latency(seconds, theme)
    return {name: _larger(chart.to_dict(validate=False)) for name, chart in made.items()}


def _larger(spec: dict[str, Any]) -> dict[str, Any]:
    for part, sizes in LARGER.items():
        spec["config"][part] = {**spec["config"].get(part, {}), **sizes}
    return spec


def _unfairness(history: dict[str, Any], ranker: str, tolerance: float | None, theme: str, by: str) -> Any:
    rows = [
        {"ranker": ranker, "user": "live", "seed": 0, "round": at, UF.name: gap}
        for at, gap in zip(history["round"], history["largest_gap"], strict=True)
        if not np.isnan(gap)
    ]
    least = max(tolerance or LEAST_TOLERANCE, LEAST_TOLERANCE)
    return unfairness_chart(rows, Manner(theme, fair=ranker), tolerance=least, by=by)


def _exposure(history: dict[str, Any], constraint: dict[str, Any], theme: str, by: str) -> Any:
    rounds = np.array(history["round"])
    points = []
    for group in constraint["groups"]:
        share = 1.0 if constraint["learned"] else group["share"]
        received = np.array(history["exposure"][group["group"]]) / share / rounds
        points += _points(group["group"], history["round"], received)
    subtitle = "per ranking and unit of share; lines that meet are fair"
    if constraint["learned"]:
        subtitle = "per ranking; what groups are owed is learned"
    return _drawn(points, f"Exposure: {by}" if by else "Exposure by group", subtitle, "exposure", theme)


def _rate(history: dict[str, Any], column: str, title: str, subtitle: str, theme: str) -> Any:
    values = np.array(history[column]) / np.array(history["round"])
    return _drawn(_points("so far", history["round"], values), title, subtitle, "mean so far", theme)


def _points(name: str, rounds: Sequence[int], values: Any) -> list[dict[str, Any]]:
    return [
        {"ranker": name, "round": at, "value": value, "low": value, "high": value, "seeds": 1}
        for at, value in zip(rounds, np.asarray(values).tolist(), strict=True)
        if not np.isnan(value)  # of what was not there yet
    ]


def _drawn(points: list[dict[str, Any]], title: str, subtitle: str, value: str, theme: str) -> Any:
    top = max(point["value"] for point in points) or 1.0
    frame = Frame(title=title, subtitle=subtitle, value=value, axis=Axis(0.0, 1.08 * top), theme=theme)
    return draw(points, frame)


def _learning(history: dict[str, Any], theme: str) -> Any:
    """Clicks per ranking, looking back from each point."""
    rounds, clicks = np.array([0, *history["round"]]), np.array([0, *history["clicks"]])
    at = np.arange(1, len(rounds))
    since = np.maximum(at - max(len(at) // LATELY, 1), 0)
    rate = (clicks[at] - clicks[since]) / np.maximum(rounds[at] - rounds[since], 1)
    return _drawn(_points("lately", history["round"], rate), "Clicks per ranking", "as it learns", "clicks", theme)


def _clicks(positions: Sequence[dict[str, Any]], theme: str) -> Any:
    alt = altair()
    bars = [
        {"position": each["position"], "rate": each["clicks"] / each["shown"], "shown": each["shown"]}
        for each in positions
        if each["shown"]
    ]
    encoded = _bars(bars, theme).encode(
        x=alt.X("position:O", title="position", axis=alt.Axis(labelAngle=0, labelOverlap=True)),
        y=alt.Y("rate:Q", title="clicks per showing", axis=alt.Axis(tickCount=5, format="%")),
        tooltip=["position:O", alt.Tooltip("rate:Q", format=".1%"), alt.Tooltip("shown:Q", format=",d")],
    )
    return _framed(encoded, "Clicks by position", "of all that was shown there", theme)


def _weights(theta: dict[str, Any], theme: str) -> Any:
    """The model's largest weights, to the right where a feature speaks for a candidate."""
    alt = altair()
    colours = alt.Scale(domain=["for", "against"], range=[FAIR_COLOURS[theme], COLOURS[0]])
    bars = [{**each, "speaks": "for" if each["weight"] >= 0 else "against"} for each in theta["largest"]]
    encoded = _bars(bars, theme).encode(
        x=alt.X("weight:Q", title="weight", axis=alt.Axis(tickCount=5)),
        y=alt.Y("feature:N", title=None, sort=None, axis=alt.Axis(labelLimit=120)),
        color=alt.Color("speaks:N", scale=colours, legend=None),
        tooltip=["feature:N", alt.Tooltip("weight:Q", format="+.4f"), "speaks:N"],
    )
    return _framed(encoded, "What it has learned", f"features that weigh most; norm {theta['norm']:.3g}", theme)


def _latency(seconds: Sequence[float], theme: str) -> Any:
    """How many of the latest rankings took how long."""
    alt = altair()
    taken = 1000.0 * np.asarray(seconds)
    counts, _ = np.histogram(taken, [*EDGES_MS, np.inf])
    names = [f"{low:g}–{high:g}" for low, high in pairwise(EDGES_MS)] + [f"> {EDGES_MS[-1]:g}"]
    full = np.flatnonzero(counts)
    inside = range(full[0], full[-1] + 1)
    bars = [{"took": names[place], "rankings": int(counts[place])} for place in inside]
    encoded = _bars(bars, theme).encode(
        x=alt.X("took:O", title="milliseconds", sort=None, axis=alt.Axis(labelAngle=-30 if len(inside) > 6 else 0)),
        y=alt.Y("rankings:Q", title="rankings", axis=alt.Axis(tickCount=5, format=",d")),
        tooltip=[alt.Tooltip("took:O", title="milliseconds"), alt.Tooltip("rankings:Q", format=",d")],
    )
    median, late = np.percentile(taken, (50, 99))
    subtitle = f"latest {len(taken)}: median {median:.3g} ms, 99% within {late:.3g} ms"
    return _framed(encoded, "Time to rank", subtitle, theme)


def _bars(rows: list[dict[str, Any]], theme: str) -> Any:
    alt = altair()
    return alt.Chart(alt.Data(values=rows)).mark_bar(color=FAIR_COLOURS[theme])


def _framed(encoded: Any, title: str, subtitle: str, theme: str) -> Any:
    alt = altair()
    named = alt.TitleParams(title, subtitle=subtitle)
    return dressed(alt.layer(encoded, title=named, width=WIDTH, height=HEIGHT), theme)
