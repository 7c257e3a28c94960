"""What fairness costs: online NDCG against unfairness, a line for each fair ranker through its trade-offs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fairexp.charts.drawing import HEIGHT, LINE_OF_TEXT, WIDTH, dressed
from fairexp.charts.extra import altair
from fairexp.charts.labels import Axis, spread
from fairexp.charts.rows import Row
from fairexp.charts.style import GRID, MUTED, Look, display_name, looks
from fairexp.errors import ArgumentError
from fairexp.measures import ONLINE_NDCG, Measure

LETTER = 6.2
"""About how wide a letter is."""
NEAR = 9.0
"""How far from its point a number stands."""
LEAST = 1e-6
_ONLINE = ONLINE_NDCG.heading[0].lower() + ONLINE_NDCG.heading[1:]


@dataclass(frozen=True)
class Plane:
    """Where values lie in the drawing, in pixels from its left and from its bottom."""

    across: tuple[float, float]
    """The logarithms of unfairness at both ends."""
    up: Axis

    def x(self, row: Row) -> float:
        low, high = self.across
        return WIDTH * 1.25 * (math.log(row["unfairness"]) - low) / (high - low)

    def y(self, row: Row) -> float:
        return HEIGHT * self.up.position(row["online"])

    def values(self, x: float, y: float) -> Row:
        """What lies at a place in pixels."""
        low, high = self.across
        return {"unfairness": math.exp(low + x / (WIDTH * 1.25) * (high - low)), "online": self.up.value(y / HEIGHT)}


def frontier_chart(
    rows: Sequence[Row], measure: Measure, *, title: str, subtitle: str = "", theme: str = "light"
) -> Any:
    """A line for each ranker with several points, and a point for each other; up and to the left is better.

    `rows` have ranker, value (of its trade-off parameter, or None), online (NDCG), low and high (its interval),
    unfairness (by `measure`), and kept: whether the point is on the ranker's own frontier. The first ranker's
    values stand beside its points, and every ranker's name at the right.
    """
    if not rows:
        raise ArgumentError("rows", "none", "a row for each point")
    alt = altair()
    points = [{**row, "unfairness": max(row["unfairness"], LEAST), "name": display_name(row["ranker"])} for row in rows]
    styles = looks(list(dict.fromkeys(row["ranker"] for row in points)), theme)
    points = [{**row, "colour": styles[row["ranker"]].colour} for row in points]
    plane = _plane(points)
    x = alt.X(
        "unfairness:Q",
        title=f"{measure.heading[0].lower() + measure.heading[1:]} (log scale; less is fairer)",
        scale=alt.Scale(type="log", domain=[math.exp(end) for end in plane.across], nice=False),
        axis=alt.Axis(grid=False, tickCount=5, format="~g", labelOverlap=True),
    )
    y = alt.Y(
        "online:Q",
        title=_ONLINE,
        scale=alt.Scale(domain=[plane.up.low, plane.up.high], nice=False, zero=False),
        axis=alt.Axis(tickCount=6, format="~r"),
    )
    layers = [
        *_names(points, plane, styles, x, theme),
        _bars(points, x),
        *_lines(points, x, y, styles),
        *_points(points, x, y, styles, measure),
        _values(points, plane, x, theme),
    ]
    told = ["up and left is better; faint: beaten by the same ranker; bars: 95%"]
    header = alt.TitleParams(title, subtitle=[subtitle, *told] if subtitle else told)
    return dressed(alt.layer(*layers, title=header, width=WIDTH * 1.25, height=HEIGHT), theme)


def _plane(points: Sequence[Row]) -> Plane:
    """Room for all values and intervals, and a little around them."""
    ends = [row[name] for row in points for name in ("online", "low", "high") if row[name] is not None]
    ends = [min(max(end, 0.0), 1.5 * max(row["online"] for row in points)) for end in ends]
    room = 0.06 * (max(ends) - min(ends)) or 1.0
    logs = [math.log(row["unfairness"]) for row in points]
    margin = 0.06 * (max(logs) - min(logs)) or 1.0
    return Plane((min(logs) - margin, max(logs) + margin), Axis(max(min(ends) - room, 0.0), max(ends) + room))


def _lines(points: Sequence[Row], x: Any, y: Any, styles: dict[str, Look]) -> list[Any]:
    """Through what is on each ranker's frontier, the emphasised on top."""
    alt = altair()
    layers = []
    for ranker in sorted(styles, key=lambda name: styles[name].width):
        own = [row for row in points if row["ranker"] == ranker and row["kept"]]
        look = styles[ranker]
        line = alt.Chart(alt.Data(values=own)).mark_line(
            color=look.colour, strokeWidth=look.width * 0.7, strokeDash=list(look.dash), clip=True
        )
        layers += [line.encode(x=x, y=y, order="unfairness:Q")] if len(own) > 1 else []
    return layers


def _points(points: Sequence[Row], x: Any, y: Any, styles: dict[str, Look], measure: Measure) -> list[Any]:
    alt = altair()
    shapes = alt.Shape(
        "ranker:N",
        legend=None,
        scale=alt.Scale(domain=list(styles), range=[look.marker for look in styles.values()]),
    )
    tooltip = [
        alt.Tooltip("name:N", title="ranker"),
        alt.Tooltip("value:Q", title="trade-off"),
        alt.Tooltip("online:Q", title=_ONLINE, format=",.1f"),
        alt.Tooltip("unfairness:Q", title=measure.heading.lower(), format=",.3~r"),
    ]
    layers = []
    for kept, opacity in ((False, 0.3), (True, 1.0)):
        own = [row for row in points if row["kept"] == kept]
        marks = alt.Chart(alt.Data(values=own)).mark_point(filled=True, size=55, opacity=opacity, clip=True)
        colour = alt.Color("colour:N", scale=None)
        layers += [marks.encode(x=x, y=y, color=colour, shape=shapes, tooltip=tooltip)] if own else []
    return layers


def _bars(points: Sequence[Row], x: Any) -> Any:
    """The intervals of online NDCG, of those that have one and are on their frontier."""
    alt = altair()
    known = [row for row in points if row["low"] is not None and row["kept"]]
    bars = alt.Chart(alt.Data(values=known)).mark_rule(opacity=0.35, clip=True)
    return bars.encode(x=x, y="low:Q", y2="high:Q", color=alt.Color("colour:N", scale=None))


def _names(points: Sequence[Row], plane: Plane, styles: dict[str, Look], x: Any, theme: str) -> list[Any]:
    """Every ranker's name in a column at the right, with a thin line to its last point; none covers another."""
    alt = altair()
    kept = [row for row in points if row["kept"]]
    ends = [max((row for row in kept if row["ranker"] == ranker), key=plane.x) for ranker in styles]
    heights = spread([plane.up.position(end["online"]) for end in ends], gap=LINE_OF_TEXT / HEIGHT)
    named = [
        {**end, "height": plane.up.value(height), "edge": math.exp(plane.across[1])}
        for end, height in zip(ends, heights, strict=True)
    ]
    base = alt.Chart(alt.Data(values=named))
    leader = base.mark_rule(color=GRID[theme], strokeWidth=1).encode(x=x, x2="edge:Q", y="online:Q", y2="height:Q")
    text = base.mark_text(align="left", dx=6, fontSize=12, baseline="middle")
    column = text.encode(x=alt.value("width"), y="height:Q", text="name:N", color=alt.Color("colour:N", scale=None))
    return [leader, column]


def _values(points: Sequence[Row], plane: Plane, x: Any, theme: str) -> Any:
    """The first ranker's values beside its points: above, below, left or right, wherever nothing is in the way."""
    alt = altair()
    own = [row for row in points if row["ranker"] == points[0]["ranker"] and row["kept"] and row["value"] is not None]
    taken = [_box(plane.x(row), plane.y(row), 8.0, 8.0) for row in points if row["kept"]]
    placed = []
    for row in own:
        text = f"{row['value']:g}"
        width, at = LETTER * len(text) + 4, (plane.x(row), plane.y(row))
        across = NEAR + width / 2
        places = [
            (at[0] + dx, at[1] + dy)
            for far in (1.0, 1.8, 2.6)
            for dx, dy in ((0, far * NEAR * 1.3), (0, -far * NEAR * 1.3), (far * across, 0), (-far * across, 0))
        ]
        free = [place for place in places if not _hits(_box(*place, width, LINE_OF_TEXT * 0.8), taken)]
        spot = next(iter(free), None)
        if spot is not None:  # where everything is full, a number less is better than one that hides others
            taken.append(_box(*spot, width, LINE_OF_TEXT * 0.8))
            placed.append({"text": text, **plane.values(*spot)})
    marks = alt.Chart(alt.Data(values=placed)).mark_text(fontSize=11, baseline="middle", color=MUTED[theme])
    return marks.encode(x=x, y="online:Q", text="text:N")


Box = tuple[float, float, float, float]


def _box(x: float, y: float, width: float, height: float) -> Box:
    return x - width / 2, y - height / 2, x + width / 2, y + height / 2


def _hits(box: Box, others: Sequence[Box]) -> bool:
    """Whether a box lies over another, or out of the drawing."""
    left, bottom, right, top = box
    if left < 0 or bottom < 0 or right > WIDTH * 1.25 or top > HEIGHT:
        return True
    return any(left < r and right > a and bottom < t and top > b for a, b, r, t in others)
