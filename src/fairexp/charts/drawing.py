"""Lines over rounds with bands, sparse markers, and names at their ends: what all charts share."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fairexp.charts.extra import altair
from fairexp.charts.labels import Axis, spread
from fairexp.charts.rows import Row
from fairexp.charts.style import EMPHASIS, GRID, INK, MUTED, PAPER, Look, display_name, looks

WIDTH, HEIGHT = 330, 300
LINE_OF_TEXT = 15
FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"


@dataclass(frozen=True)
class Frame:
    """What stands around the lines; `ticks` None leaves them to the axis, `notes` are named values at its far end.

    `ends` say what the bands reach from and to; lines of `subtitle` are cut at line breaks. `fair` is the ranker whose
    line is thick (None: the first that is called so).
    """

    title: str
    subtitle: str
    value: str
    axis: Axis
    theme: str
    ticks: tuple[float, ...] | None = None
    notes: tuple[tuple[str, float], ...] = ()
    ends: tuple[str, str] = ("lowest seed", "highest seed")
    fair: str | None = None


def draw(points: Sequence[Row], frame: Frame, *, behind: Sequence[Any] = (), dotted: Sequence[Row] = ()) -> Any:
    """A layered chart of `points` (ranker, round, value, low, high), with the layers `behind` at the back.

    `dotted` are points of a second, thin line of the same rankers.
    """
    alt = altair()
    rankers = list(dict.fromkeys(point["ranker"] for point in points))
    styles = looks(rankers, frame.theme, fair=frame.fair)
    named = [{**point, "name": display_name(point["ranker"])} for point in points]
    base = alt.Chart(alt.Data(values=named)).encode(
        x=_rounds(points), y=_values("value", frame), color=_scale(alt.Color, styles, "colour")
    )
    band = base.mark_area(opacity=0.1, clip=True).encode(y=_values("low", frame), y2="high:Q")
    layers = [*behind, band, *_lines(base, styles), _markers(named, base, styles, frame), *_names(named, styles, frame)]
    if dotted:
        layers.insert(len(behind) + 1, _dotted(dotted, base))
    title = alt.TitleParams(frame.title, subtitle=frame.subtitle.split("\n"))
    return dressed(alt.layer(*layers, title=title, width=WIDTH, height=HEIGHT), frame.theme)


def _rounds(points: Sequence[Row]) -> Any:
    alt = altair()
    last = max(point["round"] for point in points)
    axis = alt.Axis(tickCount=5, grid=False, format=",d", labelSeparation=6)
    return alt.X("round:Q", title="rounds", scale=alt.Scale(domain=[0, last], nice=False), axis=axis)


def _values(field: str, frame: Frame) -> Any:
    alt = altair()
    axis = frame.axis
    if axis.constant is None:
        scale = alt.Scale(domain=[axis.low, axis.high], nice=False, zero=False)
        return alt.Y(f"{field}:Q", title=frame.value, scale=scale, axis=alt.Axis(tickCount=6, format=".2f"))
    scale = alt.Scale(type="symlog", constant=axis.constant, domain=[axis.low, axis.high], nice=False)
    ticks = alt.Axis(values=list(frame.ticks or ()), format=",~r")
    return alt.Y(f"{field}:Q", title=frame.value, scale=scale, axis=ticks)


def _dotted(points: Sequence[Row], base: Any) -> Any:
    """Thin dots in the colours of the lines."""
    dots = base.mark_line(clip=True, strokeWidth=1.3, strokeDash=[1, 2.5])
    dots.data = altair().Data(values=list(points))
    return dots


def _lines(base: Any, styles: dict[str, Look]) -> list[Any]:
    """The lines, thin ones first, so that the emphasised one lies on top."""
    dashes = _scale(altair().StrokeDash, styles, "dash")
    layers = []
    for width in sorted({look.width for look in styles.values()}):
        own = json.dumps([ranker for ranker, look in styles.items() if look.width == width])
        line = base.mark_line(clip=True, strokeJoin="round", strokeWidth=width)
        layers.append(line.transform_filter(f"indexof({own}, datum.ranker) >= 0").encode(strokeDash=dashes))
    return layers


def _scale(channel: Any, styles: dict[str, Look], trait: str) -> Any:
    """One trait of the looks as a scale over rankers; names at the lines take the place of a legend."""
    alt = altair()
    traits = [getattr(look, trait) for look in styles.values()]
    found = [list(value) if isinstance(value, tuple) else value for value in traits]
    return channel("ranker:N", legend=None, scale=alt.Scale(domain=list(styles), range=found))


def _markers(named: Sequence[Row], base: Any, styles: dict[str, Look], frame: Frame) -> Any:
    """A marker at about every eighth of the rounds, staggered so that those of close lines do not coincide."""
    alt = altair()
    last = max(point["round"] for point in named)
    kept = []
    for number, ranker in enumerate(styles):
        own = [point for point in named if point["ranker"] == ranker]
        aims = [last * (step + number / len(styles)) / 8 for step in range(8)]
        nearest = [min(own, key=lambda point, aim=aim: abs(point["round"] - aim)) for aim in aims]  # type: ignore[misc]
        kept += list({point["round"]: point for point in [*nearest, own[-1]]}.values())
    tooltip = [
        alt.Tooltip("name:N", title="ranker"),
        alt.Tooltip("round:Q", format=",d"),
        alt.Tooltip("value:Q", title="mean", format=",.3f"),
        alt.Tooltip("low:Q", title=frame.ends[0], format=",.3f"),
        alt.Tooltip("high:Q", title=frame.ends[1], format=",.3f"),
    ]
    marks = base.mark_point(filled=True, size=46, opacity=1)
    marks.data = alt.Data(values=kept)
    return marks.encode(shape=_scale(alt.Shape, styles, "marker"), tooltip=tooltip)


def _names(named: Sequence[Row], styles: dict[str, Look], frame: Frame) -> list[Any]:
    """The name of each line right of its end, and the notes, moved up or down where two would overlap."""
    ends = [[point for point in named if point["ranker"] == ranker][-1] for ranker in styles]
    values = [end["value"] for end in ends] + [value for _, value in frame.notes]
    positions = [min(max(frame.axis.position(value), 0.0), 1.0) for value in values]
    heights = [frame.axis.value(position) for position in spread(positions, gap=LINE_OF_TEXT / HEIGHT)]
    labels = [
        {"ranker": end["ranker"], "text": end["name"], "value": height}
        for end, height in zip(ends, heights, strict=False)
    ]
    notes = [
        {"text": text, "value": height} for (text, _), height in zip(frame.notes, heights[len(ends) :], strict=True)
    ]
    thick = [label for label in labels if styles[label["ranker"]].width == EMPHASIS]
    thin = [label for label in labels if label not in thick]
    colours = _scale(altair().Color, styles, "colour")
    layers = [_texts(thick, frame, fontWeight="bold").encode(color=colours)] if thick else []
    layers += [_texts(thin, frame).encode(color=colours)] if thin else []
    return [*layers, *([_texts(notes, frame, fontStyle="italic", color=MUTED[frame.theme])] if notes else [])]


def _texts(labels: Sequence[Row], frame: Frame, **style: Any) -> Any:
    alt = altair()
    text = alt.Chart(alt.Data(values=list(labels))).mark_text(align="left", dx=9, fontSize=12, **style)
    return text.encode(x=alt.value("width"), y=_values("value", frame), text="text:N")


def dressed(chart: Any, theme: str) -> Any:
    """The chart in the colours and letters that all charts share."""
    quiet = {"labelColor": MUTED[theme], "titleColor": MUTED[theme], "domainColor": MUTED[theme]}
    return (
        chart.configure(background=PAPER[theme], font=FONT, padding=8)
        .configure_view(stroke=None)
        .configure_axis(
            **quiet,
            gridColor=GRID[theme],
            tickColor=MUTED[theme],
            labelFontSize=11,
            titleFontSize=12,
            titleFontWeight="normal",
        )
        .configure_title(
            color=INK[theme], subtitleColor=MUTED[theme], anchor="start", fontSize=16, subtitleFontSize=12, offset=12
        )
    )
