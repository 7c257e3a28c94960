"""The three charts, each defined once: report, PNG and SVG are drawn from the same definition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fairexp.charts.drawing import Frame, draw
from fairexp.charts.extra import altair
from fairexp.charts.labels import Axis
from fairexp.charts.rows import RANGE, Row, Summing
from fairexp.charts.style import BAND
from fairexp.errors import ArgumentError
from fairexp.measures import (
    HELDOUT_NDCG,
    IRRELEVANT,
    MAX_UF,
    MEAN_ONLINE_NDCG,
    ONLINE_NDCG,
    UF,
    ZERO,
    Measure,
)

QUIET_START = 0.02
"""The part of the rounds before a running mean of NDCG is drawn: a mean of few queries says little."""


@dataclass(frozen=True)
class Manner:
    """How charts are drawn: the theme, how rows that differ by seed (and fold) are summed up, and what is not in them.

    That is the rule of their NDCG (`fairexp.measures.IRRELEVANT`), and which ranker is the fair one, whose line is
    thick (None: the first that is called so).
    """

    theme: str = "light"
    over: Summing = RANGE
    irrelevant: str = ZERO
    fair: str | None = None


LIGHT, DARK = Manner(), Manner("dark")


def online_chart(rows: Sequence[Row], manner: Manner = LIGHT) -> Any:
    """The mean NDCG@10 of all that users were shown so far, by round."""
    last = max((row["round"] for row in rows), default=0)
    late = [row for row in rows if row["round"] >= QUIET_START * last]
    return _ndcg_chart(late, MEAN_ONLINE_NDCG, ONLINE_NDCG.heading, "what users were shown, mean so far", manner)


def heldout_chart(rows: Sequence[Row], manner: Manner = LIGHT) -> Any:
    """The NDCG@10 of what was learned, on held-out queries, by round."""
    return _ndcg_chart(rows, HELDOUT_NDCG, HELDOUT_NDCG.heading, "what was learned, on unseen queries", manner)


def unfairness_chart(rows: Sequence[Row], manner: Manner = LIGHT, *, tolerance: float = 0.1, by: str = "") -> Any:
    """The exposure gap between groups after each round, on a scale linear up to `tolerance` and logarithmic above.

    The largest gap of all rounds so far is a dotted line, where rows tell it. `by` names what tells the groups apart,
    where that is not clear.
    """
    points = manner.over.points(rows, UF)
    _some(points, UF)
    largest = manner.over.points([row for row in rows if row.get(MAX_UF.name) is not None], MAX_UF)
    # Wide bands of a few early rounds are cut rather than leave the lines little room.
    highest = max(point["high"] for point in points)
    line = max(point["value"] for point in [*points, *largest])
    top = max(min(highest, 2 * line), line, 10 * tolerance)
    told = "line: after the round; dotted: the largest so far" if largest else "after the round"
    frame = Frame(
        title=f"{UF.heading}: {by}" if by else UF.heading,
        subtitle=f"exposure gap between the groups; {direction(UF)}\n{told}",
        value="gap (log scale above the tolerance)",
        axis=Axis(0.0, 1.3 * top, constant=tolerance),
        theme=manner.theme,
        ends=manner.over.ends,
        ticks=_ticks(tolerance, top),
        notes=((f"tolerance {tolerance:g}", tolerance / 3),),
        fair=manner.fair,
    )
    return draw(points, frame, behind=[_tolerance_band(tolerance, manner.theme)], dotted=largest)


def charts(rows: Sequence[Row], manner: Manner = LIGHT, *, tolerance: float = 0.1) -> dict[str, Any]:
    """All charts that the rows have data for, by file name."""
    made: dict[str, Any] = {"online-ndcg": online_chart(rows, manner)}
    if any(row[HELDOUT_NDCG.name] is not None for row in rows):
        made["heldout-ndcg"] = heldout_chart(rows, manner)
    if any(row[UF.name] is not None for row in rows):
        made["unfairness"] = unfairness_chart(rows, manner, tolerance=tolerance)
    return made


def direction(measure: Measure) -> str:
    """Which way is better, with an arrow that points there."""
    return f"{measure.better} is better {'↑' if measure.better == 'higher' else '↓'}"


def _ndcg_chart(rows: Sequence[Row], measure: Measure, title: str, means: str, manner: Manner) -> Any:
    points = manner.over.points(rows, measure)
    frame = Frame(
        title=title,
        subtitle=f"{means}; {direction(measure)}\n{IRRELEVANT[manner.irrelevant]}",
        value=f"NDCG@{measure.cutoff}",
        axis=_snug(points, measure),
        theme=manner.theme,
        ends=manner.over.ends,
        fair=manner.fair,
    )
    return draw(points, frame)


def _some(points: Sequence[Row], measure: Measure) -> None:
    if not points:
        raise ArgumentError("rows", f"none with {measure}", f"rows in which {measure} was measured")


def _snug(points: Sequence[Row], measure: Measure) -> Axis:
    """An axis around the values, to the next twentieth on either side."""
    _some(points, measure)
    low, high = min(point["low"] for point in points), max(point["high"] for point in points)
    return Axis(max(int(low * 20 - 0.2), 0) / 20, min(int(high * 20 + 1.2), 20) / 20)


def _ticks(tolerance: float, top: float) -> tuple[float, ...]:
    """0, the tolerance, and every power of ten above it up to `top`."""
    powers = [10.0**power for power in range(-6, 10)]
    return (0.0, tolerance, *(power for power in powers if 2 * tolerance < power <= 1.3 * top))


def _tolerance_band(tolerance: float, theme: str) -> Any:
    """A shaded band from 0 to the tolerance."""
    alt = altair()
    source = alt.Data(values=[{"low": 0.0, "high": tolerance}])
    return alt.Chart(source).mark_rect(color=BAND[theme]).encode(y="low:Q", y2="high:Q")
