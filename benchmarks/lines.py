"""A chart of a few measured lines, in the style of the package's other charts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fairexp.charts.extra import altair
from fairexp.charts.style import COLOURS, DASHES, FAIR_COLOURS, GRID, INK, MARKERS, MUTED, PAPER

WIDTH, HEIGHT = 420, 280
THEME = "light"


@dataclass(frozen=True)
class Axes:
    """What the axes say; both are logarithmic, so that a power law is a straight line, or neither is."""

    title: str
    subtitle: str
    x: str
    value: str
    logarithmic: bool = True


def chart(points: Sequence[dict[str, Any]], axes: Axes) -> Any:
    """Lines of `points` (x, series, value), told apart by colour, dash and marker, with a legend below."""
    alt = altair()
    series = list(dict.fromkeys(point["series"] for point in points))
    colours = [FAIR_COLOURS[THEME], *COLOURS]
    dashes = [[1, 0], *map(list, DASHES)]
    markers = ["circle", *MARKERS]

    def scale(choices: Sequence[Any]) -> Any:
        return alt.Scale(domain=series, range=[choices[i % len(choices)] for i in range(len(series))])

    legend = alt.Legend(title=None, orient="bottom", symbolStrokeWidth=2, symbolSize=70)
    base = alt.Chart(alt.Data(values=list(points))).encode(
        x=alt.X("x:Q", title=axes.x, scale=_scale(axes), axis=alt.Axis(grid=False, format="~s", tickCount=6)),
        y=alt.Y("value:Q", title=axes.value or None, scale=_scale(axes), axis=alt.Axis(format="~g", tickCount=6)),
        color=alt.Color("series:N", scale=scale(colours), legend=legend),
    )
    lines = base.mark_line(strokeWidth=2).encode(
        strokeDash=alt.StrokeDash("series:N", scale=scale(dashes), legend=None)
    )
    marks = base.mark_point(filled=True, size=46, opacity=1).encode(
        shape=alt.Shape("series:N", scale=scale(markers), legend=legend)
    )
    title = alt.TitleParams(axes.title, subtitle=axes.subtitle)
    return _dressed(alt.layer(lines, marks, title=title, width=WIDTH, height=HEIGHT))


def _scale(axes: Axes) -> Any:
    alt = altair()
    return alt.Scale(type="log", nice=False, padding=8) if axes.logarithmic else alt.Scale(zero=True, nice=True)


def _dressed(drawn: Any) -> Any:
    quiet = {"labelColor": MUTED[THEME], "titleColor": MUTED[THEME], "domainColor": MUTED[THEME]}
    return (
        drawn.configure(background=PAPER[THEME], padding=8)
        .configure_view(stroke=None)
        .configure_axis(**quiet, gridColor=GRID[THEME], tickColor=MUTED[THEME], titleFontWeight="normal")
        .configure_title(color=INK[THEME], subtitleColor=MUTED[THEME], anchor="start", fontSize=16, offset=12)
        .configure_legend(labelColor=INK[THEME], labelLimit=300)
    )
