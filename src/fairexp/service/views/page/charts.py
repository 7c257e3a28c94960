"""The page's charts as Vega-Lite, from a policy's reports and from how long its latest rankings took."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from fairexp.charts.drawing import HEIGHT, WIDTH, dressed
from fairexp.charts.extra import altair
from fairexp.charts.reliability import DEFINITION, reliability_chart
from fairexp.charts.style import COLOURS, FAIR_COLOURS, INK, MUTED
from fairexp.reliability import Reliability
from fairexp.service.views.page import definitions

EDGES_MS = (0, 1, 2, 3, 5, 7.5, 10, 15, 25, 50, 100, 250, 500, 1000, 2500)
"""Where bars of the chart of times begin and end."""

STRETCHES = 12
"""Rates are drawn over the last of so many stretches of the range: a mean from its beginning hides what has changed."""

FEW = 12
"""Lines of so few points have them marked."""

ROOM = 1.6
"""So much higher than the tolerance an axis reaches at least, so that its line has room above it."""

LEAST_TOLERANCE = 0.01
"""The scale is linear up to the tolerance, which takes a tolerance above 0."""

SHOWN, DRAWN = "as shown", "without fairness"
"""What the lines are called that compare what was shown with what the host would have shown by itself."""


def live_charts(
    report: dict[str, Any],
    *,
    theta: dict[str, Any] | None,
    reliability: Reliability | None,
    seconds: Sequence[float],
    theme: str,
) -> dict[str, Any]:
    """Charts by name; none before the first ranking.

    `report` is a fairness report, `theta` the model in short and `reliability` how far it is to be believed, where
    there are such, `seconds` how long rankings took.
    Each chart says in `usermeta.definition` what is drawn.
    """
    history = report["history"]
    if not history["round"]:
        return {}
    made: dict[str, tuple[Any, str]] = {}
    for number, each in enumerate(report["constraints"]):
        end, by = (f"-{number}" if number else ""), (each["constraint"] if len(report["constraints"]) > 1 else "")
        own = {"round": history["round"], **each["history"]}
        if np.isnan(own["largest_gap"]).all():  # it is new, and nothing was ranked with it yet
            continue
        made[f"unfairness{end}"] = _gap(own, each["tolerance"], theme, by), definitions.GAP
        made[f"exposure{end}"] = _exposure(own, each, theme, by), definitions.ATTENTION
    if report["tolerance"] is not None:
        within = _rate(history, "qualified", "Within the tolerance", "share of rankings", theme)
        made["qualified"] = within, definitions.WITHIN
        reversed_ = _rate(history, "added_regret", "Sure orders reversed", "for fairness, per ranking", theme)
        made["regret"] = reversed_, definitions.REVERSED
    if report["expected_clicks"] is not None:
        made["cost"] = _cost(history, theme), definitions.COST
    made["learning"] = _rate(history, "clicks", "Clicks per ranking", "as it learns", theme), definitions.LEARNING
    made["clicks"] = _clicks(report["clicks_by_position"], theme), definitions.CLICKS
    if theta is not None:
        made["weights"] = _weights(theta, theme), definitions.WEIGHTS
    if reliability is not None:
        made["reliability"] = reliability_chart(reliability, subtitle=reliability.in_words(), theme=theme), DEFINITION
    if seconds:
        made["latency"] = _latency(seconds, theme), definitions.LATENCY
    return {name: _told(chart, definition) for name, (chart, definition) in made.items()}


def _told(chart: Any, definition: str) -> dict[str, Any]:
    spec: dict[str, Any] = chart.to_dict(validate=False)
    return {**spec, "usermeta": {"definition": definition}}


def _gap(history: dict[str, Any], tolerance: float | None, theme: str, by: str) -> Any:
    """The gap as it is and as it would be, over the tolerance: linear up to that, logarithmic above."""
    alt = altair()
    lines = {SHOWN: history["largest_gap"], DRAWN: history["largest_gap_as_drawn"]}
    points = [
        {"line": name, "round": at, "value": gap}
        for name, gaps in lines.items()
        for at, gap in zip(history["round"], gaps, strict=True)
        if gap is not None and not np.isnan(gap)
    ]
    top = max(point["value"] for point in points)
    title = f"Gap between the groups: {by}" if by else "Gap between the groups"
    if tolerance is None:
        return _lines(points, title, "lower is fairer", "gap", theme)
    limit = max(tolerance, LEAST_TOLERANCE)
    high = max(ROOM * limit, 1.15 * top)
    scale = alt.Scale(type="symlog", constant=limit, domain=[0.0, high], nice=False)
    powers = [10.0**power for power in range(-6, 10) if 2 * limit < 10.0**power <= high]
    y = alt.Y("value:Q", title="gap", scale=scale, axis=alt.Axis(values=[0.0, limit, *powers], format=",~r"))
    rule = alt.Chart(alt.Data(values=[{"value": limit, "name": f"tolerance {tolerance:g}"}])).encode(y=y)
    label = rule.mark_text(align="left", baseline="bottom", dx=4, dy=-3, fontSize=12, color=MUTED[theme])
    tolerated = [
        rule.mark_rule(strokeDash=[5, 4], strokeWidth=1.5, color=MUTED[theme]),
        label.encode(x=alt.value(0), text="name:N"),
    ]
    return _lines(points, title, "lower is fairer; logarithmic above the tolerance", "gap", theme, y=y, more=tolerated)


def _exposure(history: dict[str, Any], constraint: dict[str, Any], theme: str, by: str) -> Any:
    """What part of the attention each group had, in the stretch before each point, and what it is owed."""
    names, start = [group["group"] for group in constraint["groups"]], constraint["history"]["before"]["exposure"]
    had = np.array([_steps(start[name], history["exposure"][name]) for name in names])
    whole = had.sum(axis=0)
    parts = np.where(whole > 0.0, 100.0 * had / np.where(whole > 0.0, whole, 1.0), np.nan)
    points = [point for name, part in zip(names, parts, strict=True) for point in _points(name, history["round"], part)]
    shares = np.array([group["share"] for group in constraint["groups"]])
    owed = [f"{name} {100 * share:.0f} %" for name, share in zip(names, shares / shares.sum(), strict=True)]
    when = "owed by now" if constraint["learned"] else "owed"
    title = f"Attention by group: {by}" if by else "Attention by group"
    return _lines(points, title, f"{when}: {', '.join(owed[:4])}{' …' if len(owed) > 4 else ''}", "%", theme)


def _rate(history: dict[str, Any], column: str, title: str, subtitle: str, theme: str) -> Any:
    return _lines(_points("", history["round"], _rates(history, column)), title, subtitle, "per ranking", theme)


def _cost(history: dict[str, Any], theme: str) -> Any:
    lines = {SHOWN: "expected_clicks", DRAWN: "expected_clicks_as_drawn"}
    points = [
        point for name, column in lines.items() for point in _points(name, history["round"], _rates(history, column))
    ]
    return _lines(points, "Expected clicks", "by the model, per ranking", "clicks", theme)


def _rates(history: dict[str, Any], column: str) -> Any:
    """By ranking what a running total grew by, in the stretch before each point."""
    before = history["before"]
    return _steps(before[column], history[column]) / np.maximum(_steps(before["round"], history["round"]), 1)


def _steps(before: float, values: Sequence[float]) -> Any:
    """How much running totals grew in the stretch before each point."""
    totals, at = np.array([before, *values]), np.arange(1, len(values) + 1)
    return totals[at] - totals[np.maximum(at - max(len(at) // STRETCHES, 1), 0)]


def _points(name: str, rounds: Sequence[int], values: Any) -> list[dict[str, Any]]:
    return [
        {"line": name, "round": at, "value": value}
        for at, value in zip(rounds, np.asarray(values).tolist(), strict=True)
        if not np.isnan(value)  # of what was not there yet
    ]


def _lines(
    points: list[dict[str, Any]],
    title: str,
    subtitle: str,
    value: str,
    theme: str,
    *,
    y: Any = None,
    more: Sequence[Any] = (),
) -> Any:
    """Lines over rounds, in the groups' colours, with a legend where there are several."""
    alt = altair()
    names = list(dict.fromkeys(point["line"] for point in points)) or [""]
    rounds = [point["round"] for point in points] or [1]
    top = max((point["value"] for point in points), default=0.0) or 1.0
    x = alt.X(
        "round:Q",
        title="rankings so far",
        scale=alt.Scale(domain=[min(rounds) if min(rounds) > 2 else 0, max(rounds)], nice=False),
        axis=alt.Axis(tickCount=5, grid=False, format=",d"),
    )
    plain = alt.Scale(domain=[0.0, 1.15 * top], nice=False)
    y = alt.Y("value:Q", title=value, scale=plain, axis=alt.Axis(tickCount=5)) if y is None else y
    comparing = names[0] in (SHOWN, "")
    colours = [FAIR_COLOURS[theme], MUTED[theme]] if comparing else list(COLOURS)  # no group's colour for what was not
    looks = alt.Scale(domain=names, range=[colours[number % len(colours)] for number in range(len(names))])
    legend = (
        alt.Legend(
            title=None,
            orient="top",
            symbolType="stroke",
            symbolStrokeWidth=3,
            symbolOpacity=1,
            labelFontSize=12,
            labelLimit=160,
            labelColor=INK[theme],
        )
        if len(names) > 1
        else None
    )
    tooltip = [
        *([alt.Tooltip("line:N", title="line")] if len(names) > 1 else []),
        alt.Tooltip("round:Q", title="ranking", format=",d"),
        alt.Tooltip("value:Q", title=value, format=",.3~f"),
    ]
    colour = alt.Color("line:N", legend=legend, scale=looks)
    base = alt.Chart(alt.Data(values=points)).encode(x=x, y=y, color=colour, tooltip=tooltip)
    marks = [base.mark_line(clip=True, strokeJoin="round", strokeWidth=2.2)]
    if len(points) <= FEW * len(names):
        marks.append(base.mark_point(filled=True, size=40, opacity=1))
    return _framed(alt.layer(*more, *marks), title, subtitle, theme)


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
    return _framed(encoded, "What it has learned", "features that count most in a score", theme)


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
    subtitle = f"latest {len(taken)}: median {_rounded(median)} ms, 99% within {_rounded(late)} ms"
    return _framed(encoded, "Time to rank", subtitle, theme)


def _rounded(amount: float) -> str:
    """Three digits where they mean something, and never in powers of ten.

    >>> _rounded(16.52), _rounded(3240.4)
    ('16.5', '3,240')
    """
    return f"{amount:.3g}" if amount < 100 else f"{amount:,.0f}"


def _bars(rows: list[dict[str, Any]], theme: str) -> Any:
    alt = altair()
    return alt.Chart(alt.Data(values=rows)).mark_bar(color=FAIR_COLOURS[theme])


def _framed(encoded: Any, title: str, subtitle: str, theme: str) -> Any:
    named = altair().TitleParams(title, subtitle=subtitle)
    return dressed(encoded.properties(title=named, width=WIDTH, height=HEIGHT), theme)
