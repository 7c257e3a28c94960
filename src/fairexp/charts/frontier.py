"""What fairness costs: online NDCG against unfairness, over tolerances of one ranker and beside the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairexp.charts.drawing import HEIGHT, WIDTH, dressed
from fairexp.charts.extra import altair
from fairexp.charts.rows import Row
from fairexp.charts.style import FAIR_COLOURS, INK, MUTED, display_name, looks
from fairexp.errors import ArgumentError


def frontier_chart(
    swept: Sequence[Row], others: Sequence[Row], *, title: str, subtitle: str = "", theme: str = "light"
) -> Any:
    """A line through the tolerances, and a point for each other ranker; up and to the left is better.

    `swept` has rows with tolerance, unfairness, online, low and high (the interval of online); `others` have ranker in
    the place of tolerance.
    """
    if not swept:
        raise ArgumentError("swept", "no rows", "a row for each tolerance")
    alt = altair()
    fair = [{**row, "name": f"tolerance {row['tolerance']:g}"} for row in sorted(swept, key=lambda r: r["tolerance"])]
    named = [{**row, "name": display_name(row["ranker"])} for row in others]
    everything = [*fair, *named]
    x = alt.X(
        "unfairness:Q",
        title="mean unfairness (log scale; less is fairer)",
        scale=_log(everything),
        axis=alt.Axis(grid=False),
    )
    y = alt.Y("online:Q", title="online NDCG", scale=alt.Scale(zero=False, nice=True), axis=alt.Axis(tickCount=6))
    tooltip = [
        alt.Tooltip("name:N", title=" "),
        alt.Tooltip("online:Q", title="online NDCG", format=",.1f"),
        alt.Tooltip("unfairness:Q", title="mean unfairness", format=",.3~r"),
    ]
    base = alt.Chart(alt.Data(values=fair)).encode(x=x, y=y)
    colour = FAIR_COLOURS[theme]
    layers = [
        base.mark_line(color=colour, strokeWidth=2.5).encode(order="tolerance:Q"),
        _bars(fair, x, colour),
        base.mark_point(filled=True, size=60, color=colour, opacity=1).encode(tooltip=tooltip),
        base.mark_text(align="left", dx=7, dy=11, fontSize=11, color=colour).encode(text="name:N"),
    ]
    if named:
        layers += _points(named, x, y, tooltip, theme)
    told = ["FairExp at several tolerances, and the others; up and left is better"]
    header = alt.TitleParams(title, subtitle=[subtitle, *told] if subtitle else told)
    return dressed(alt.layer(*layers, title=header, width=WIDTH * 1.25, height=HEIGHT), theme)


def _points(named: Sequence[Row], x: Any, y: Any, tooltip: Sequence[Any], theme: str) -> list[Any]:
    alt = altair()
    styles = looks([row["ranker"] for row in named], theme)
    dotted = [{**row, "colour": styles[row["ranker"]].colour} for row in named]
    base = alt.Chart(alt.Data(values=dotted)).encode(x=x, y=y)
    shapes = alt.Shape(
        "ranker:N",
        legend=None,
        scale=alt.Scale(domain=list(styles), range=[look.marker for look in styles.values()]),
    )
    colours = alt.Color("colour:N", scale=None)
    return [
        _bars(dotted, x, MUTED[theme]),
        base.mark_point(filled=True, size=80, opacity=1).encode(color=colours, shape=shapes, tooltip=list(tooltip)),
        base.mark_text(align="right", dx=-9, fontSize=11, color=INK[theme]).encode(text="name:N"),
    ]


def _bars(rows: Sequence[Row], x: Any, colour: str) -> Any:
    """The intervals of online NDCG, of those that have one."""
    alt = altair()
    known = [row for row in rows if row["low"] is not None]
    return alt.Chart(alt.Data(values=known)).mark_rule(color=colour, opacity=0.6).encode(x=x, y="low:Q", y2="high:Q")


def _log(rows: Sequence[Row]) -> Any:
    """A logarithmic scale with room for names on both sides."""
    values = [max(row["unfairness"], 1e-6) for row in rows]
    return altair().Scale(type="log", domain=[min(values) / 2.5, max(values) * 4], nice=False)
