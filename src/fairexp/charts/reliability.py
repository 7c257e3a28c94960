"""The reliability diagram: how probable a ranker thought orders, against how often they turned out right."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import Any

from fairexp.charts.drawing import HEIGHT, WIDTH, dressed
from fairexp.charts.extra import altair
from fairexp.charts.rows import Row
from fairexp.charts.style import COLOURS, FAIR_COLOURS, INK, MUTED
from fairexp.reliability import Reliability

FEW = 5.0
"""Bins of fewer comparisons are not drawn: they say next to nothing."""

CLICKS, FIRST, GRADES = "clicks", "clicks, documents new to it", "grades"
"""What an order may be borne out by."""

LETTERS = 56
"""In a line of words over the chart."""

ROOM = 0.06
"""The part of the drawing, from below, in which numbers stand."""

NARROW = 250
"""Pixels: in a narrower drawing every other number is left out, for they would run into each other."""

LOWEST = 0.4
"""Where the axis of what held begins at the latest."""

TITLE = "As sure as it says?"
DEFINITION = (
    "Each time that a click prefers one document to another, the order that the ranker had thought more probable is "
    "compared with it, before anything is learned from it. To the right stands how sure it was, upwards the part of "
    "such orders that clicks bore out; the number at the bottom is how many comparisons that comes from, and the bars "
    "are 95% intervals. On the dashed line it is just as sure as it should be, above it more careful than need be. "
    "All since the beginning. Clicks of people who also click what they do not want bear out fewer "
    "orders than are right."
)


def reliability_chart(found: Reliability, *, title: str = TITLE, subtitle: str = "", theme: str = "light") -> Any:
    """What was predicted against what held: by clicks, by those on documents met for the first time, by grades.

    Without a `subtitle` it says what comes of it in words. Bins of fewer than five comparisons are left out, and of
    grades no intervals are drawn: pairs of one query say much the same.
    """
    alt = altair()
    points = _points(found)
    lowest = min([LOWEST, *(point["held"] for point in points)])
    x = alt.X(
        "predicted:Q",
        title="how sure it was",
        scale=alt.Scale(domain=[0.5, 1.0], nice=False),
        axis=alt.Axis(values=[0.5, 0.6, 0.7, 0.8, 0.9, 1.0], format="%", grid=False),
    )
    low = int(10 * lowest) / 10
    y = _share("held", low)
    names = list(dict.fromkeys(point["by"] for point in points))
    colours = alt.Scale(domain=[CLICKS, FIRST, GRADES], range=[FAIR_COLOURS[theme], COLOURS[0], COLOURS[1]])
    looks = {"orient": "top", "labelFontSize": 12, "labelLimit": 200, "labelColor": INK[theme]}
    legend = alt.Legend(title=None, values=names, **looks) if names else None
    base = alt.Chart(alt.Data(values=points)).encode(x=x, color=alt.Color("by:N", scale=colours, legend=legend))
    known = base.transform_filter("isValid(datum.low)").transform_calculate(end=_ends(low))
    bars = known.mark_rule(strokeWidth=1.6, opacity=0.55, clip=True)
    marks = base.mark_point(filled=True, size=55, opacity=1)
    layers = [
        _diagonal(x, low, theme),
        bars.encode(y=_share("end", low), y2="high:Q"),
        base.mark_line(strokeWidth=1.8, clip=True).encode(y=y),
        marks.encode(y=y, tooltip=_tooltip(), shape=_shapes()),
        _counts(points, x, theme),
    ]
    header = alt.TitleParams(title, subtitle=subtitle or wrap(found.in_words(), LETTERS))
    return dressed(alt.layer(*layers, title=header, width=WIDTH, height=HEIGHT), theme)


def _points(found: Reliability) -> list[Row]:
    parts = {CLICKS: found.all, FIRST: found.first, GRADES: found.grades}
    points: list[Row] = [
        {"by": name, **row} for name, part in parts.items() if part is not None for row in part.rows(at_least=FEW)
    ]
    return [{**point, "low": None, "high": None} if point["by"] == GRADES else point for point in points]


def _ends(low: float) -> str:
    """Where a bar ends at the bottom: above the numbers that stand there, whatever its interval."""
    return f"max(datum.low, {low + ROOM * (1.0 - low)})"


def _share(field: str, low: float) -> Any:
    alt = altair()
    scale = alt.Scale(domain=[low, 1.0], nice=False, zero=False)
    return alt.Y(f"{field}:Q", title="turned out right", scale=scale, axis=alt.Axis(tickCount=6, format="%"))


def _shapes() -> Any:
    alt = altair()
    shapes = alt.Scale(domain=[CLICKS, FIRST, GRADES], range=["circle", "square", "diamond"])
    return alt.Shape("by:N", scale=shapes, legend=None)


def _tooltip() -> list[Any]:
    alt = altair()
    return [
        alt.Tooltip("by:N", title="borne out by"),
        alt.Tooltip("predicted:Q", title="how sure it was", format=".1%"),
        alt.Tooltip("held:Q", title="turned out right", format=".1%"),
        alt.Tooltip("low:Q", title="95% interval from", format=".1%"),
        alt.Tooltip("high:Q", title="to", format=".1%"),
        alt.Tooltip("comparisons:Q", format=",.0f"),
    ]


def _diagonal(x: Any, low: float, theme: str) -> Any:
    alt = altair()
    ends = [{"predicted": end, "held": end} for end in (0.5, 1.0)]
    line = alt.Chart(alt.Data(values=ends)).mark_line(strokeDash=[5, 4], strokeWidth=1.5, color=MUTED[theme])
    return line.encode(x=x, y=_share("held", low))


def _counts(points: Sequence[Row], x: Any, theme: str) -> Any:
    """How many comparisons by clicks each bin has, along the bottom."""
    alt = altair()
    own = [
        {**point, "told": _short(point["comparisons"]), "odd": bool(number % 2)}
        for number, point in enumerate(point for point in points if point["by"] == CLICKS)
    ]
    text = alt.Chart(alt.Data(values=own)).mark_text(fontSize=10, color=MUTED[theme], baseline="bottom", dy=-3)
    fits = alt.condition(f"width >= {NARROW} || !datum.odd", alt.value(1), alt.value(0))
    return text.encode(x=x, y=alt.value("height"), text="told:N", opacity=fits)


def _short(count: float) -> str:
    """A number in at most four letters.

    >>> _short(17.4), _short(1234.0), _short(56_789.0), _short(2.4e6)
    ('17', '1.2k', '57k', '2.4M')
    """
    for unit, letter in ((1e6, "M"), (1e3, "k")):
        if count >= unit:
            return f"{count / unit:.1f}{letter}" if count < 10 * unit else f"{count / unit:.0f}{letter}"
    return f"{count:.0f}"
