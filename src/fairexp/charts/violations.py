"""Certain orders reversed for fairness, round by round, for each grouping."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairexp.charts.drawing import Frame, draw
from fairexp.charts.labels import Axis
from fairexp.charts.rows import RANGE, Row, Summing
from fairexp.errors import ArgumentError


def violations_chart(rows: Sequence[Row], *, title: str, theme: str = "light", over: Summing = RANGE) -> Any:
    """Added regret per round; `rows` have ranker (here: what a line stands for), round, seed and violations."""
    points = over.points(rows, "violations")
    if not points:
        raise ArgumentError("rows", "none with violations", "rows in which violations were counted")
    low = min(0.0, min(point["low"] for point in points))
    top = max(point["high"] for point in points)
    frame = Frame(
        title=title,
        subtitle="certain orders reversed for fairness, per round",
        value="added regret per round",
        axis=Axis(low, 1.05 * top if top > 0 else 1.0),
        theme=theme,
        ends=over.ends,
    )
    return draw(points, frame)
