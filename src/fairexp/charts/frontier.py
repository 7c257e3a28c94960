"""What fairness costs: online NDCG against unfairness, over tolerances of one ranker and beside the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairexp.charts.drawing import HEIGHT, LINE_OF_TEXT, WIDTH, dressed
from fairexp.charts.extra import altair
from fairexp.charts.labels import Axis, spread
from fairexp.charts.rows import Row
from fairexp.charts.style import FAIR_COLOURS, INK, MUTED, display_name, looks
from fairexp.errors import ArgumentError
from fairexp.measures import MEAN_UF, ONLINE_NDCG

CLOSE = 2.0
"""Points whose unfairness differs by less than this factor may need their names moved apart."""
_ONLINE = ONLINE_NDCG.heading[0].lower() + ONLINE_NDCG.heading[1:]


def frontier_chart(
    swept: Sequence[Row], others: Sequence[Row], *, title: str, subtitle: str = "", theme: str = "light"
) -> Any:
    """A line through the tolerances, and a point for each other ranker; up and to the left is better.

    `swept` has rows with tolerance, online NDCG and mean unfairness by name, and low and high (the interval of online
    NDCG); `others` have ranker in the place of tolerance.
    """
    if not swept:
        raise ArgumentError("swept", "no rows", "a row for each tolerance")
    alt = altair()
    fair = [{**_fields(row), "name": f"{row['tolerance']:g}"} for row in sorted(swept, key=lambda r: r["tolerance"])]
    named = [{**_fields(row), "name": display_name(row["ranker"])} for row in others]
    everything = [*fair, *named]
    axis = _around(everything)
    x = alt.X(
        "unfairness:Q",
        title=f"{MEAN_UF.heading.lower()} (log scale; less is fairer)",
        scale=_log(everything),
        axis=alt.Axis(grid=False),
    )
    scale = alt.Scale(domain=[axis.low, axis.high], nice=False, zero=False)
    y = alt.Y("online:Q", title=_ONLINE, scale=scale, axis=alt.Axis(tickCount=6))
    tooltip = [
        alt.Tooltip("name:N", title=" "),
        alt.Tooltip("online:Q", title=_ONLINE, format=",.1f"),
        alt.Tooltip("unfairness:Q", title=MEAN_UF.heading.lower(), format=",.3~r"),
    ]
    base = alt.Chart(alt.Data(values=fair)).encode(x=x, y=y)
    colour = FAIR_COLOURS[theme]
    layers = [
        base.mark_line(color=colour, strokeWidth=2.5).encode(order="tolerance:Q"),
        _bars(fair, x, colour),
        base.mark_point(filled=True, size=60, color=colour, opacity=1).encode(tooltip=tooltip),
        _names(fair, axis, x, align="left", dx=8, color=colour),
    ]
    if named:
        layers += [
            *_points(named, x, y, tooltip, theme),
            _names(named, axis, x, align="right", dx=-9, color=INK[theme]),
        ]
    told = ["FairExp at the tolerances that the numbers tell, and the others;", "up and left is better; bars: 95%"]
    header = alt.TitleParams(title, subtitle=[subtitle, *told] if subtitle else told)
    return dressed(alt.layer(*layers, title=header, width=WIDTH * 1.25, height=HEIGHT), theme)


def _fields(row: Row) -> Row:
    """The row with fields that Vega can name."""
    return {**row, "online": row[ONLINE_NDCG.name], "unfairness": row[MEAN_UF.name]}


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
    ]


def _names(rows: Sequence[Row], axis: Axis, x: Any, **style: Any) -> Any:
    """The names beside their points, moved up or down where points that lie close would share a line."""
    alt = altair()
    placed: list[Row] = []
    close: list[Row] = []
    for row in [*sorted(rows, key=lambda one: float(one["unfairness"])), None]:
        if row is not None and (not close or row["unfairness"] < CLOSE * close[-1]["unfairness"]):
            close.append(row)
            continue
        heights = spread([axis.position(one["online"]) for one in close], gap=LINE_OF_TEXT / HEIGHT)
        placed += [
            {"name": one["name"], "unfairness": one["unfairness"], "height": axis.value(height)}
            for one, height in zip(close, heights, strict=True)
        ]
        close = [] if row is None else [row]
    text = alt.Chart(alt.Data(values=placed)).mark_text(fontSize=11, baseline="middle", **style)
    return text.encode(x=x, y="height:Q", text="name:N")


def _around(rows: Sequence[Row]) -> Axis:
    """An axis around all values and intervals, with a little room."""
    ends = [row[name] for row in rows for name in ("online", "low", "high") if row[name] is not None]
    room = 0.05 * (max(ends) - min(ends)) or 1.0
    return Axis(max(min(ends) - room, 0.0), max(ends) + room)


def _bars(rows: Sequence[Row], x: Any, colour: str) -> Any:
    """The intervals of online NDCG, of those that have one."""
    alt = altair()
    known = [row for row in rows if row["low"] is not None]
    return alt.Chart(alt.Data(values=known)).mark_rule(color=colour, opacity=0.6).encode(x=x, y="low:Q", y2="high:Q")


def _log(rows: Sequence[Row]) -> Any:
    """A logarithmic scale with room for names on both sides."""
    values = [max(row["unfairness"], 1e-6) for row in rows]
    return altair().Scale(type="log", domain=[min(values) / 2.5, max(values) * 4], nice=False)
