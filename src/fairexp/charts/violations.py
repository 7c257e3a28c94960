"""Certain orders reversed for fairness, round by round, for each grouping."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairexp.charts.drawing import Frame, draw
from fairexp.charts.labels import Axis
from fairexp.charts.rows import RANGE, Row, Summing
from fairexp.errors import ArgumentError
from fairexp.measures import ADDED_REGRET, MEAN_ADDED_REGRET


def violations_chart(rows: Sequence[Row], *, title: str, theme: str = "light", over: Summing = RANGE) -> Any:
    """Added regret per round; `rows` have ranker (here: what a line stands for), round, seed and mean added regret."""
    points = over.points(rows, MEAN_ADDED_REGRET)
    if not points:
        raise ArgumentError("rows", f"none with {MEAN_ADDED_REGRET}", "rows in which it was counted")
    low = min(0.0, min(point["low"] for point in points))
    top = max(point["high"] for point in points)
    frame = Frame(
        title=title,
        subtitle="certain orders reversed for fairness, per round",
        value=f"{ADDED_REGRET} per round",
        axis=Axis(low, 1.05 * top if top > 0 else 1.0),
        theme=theme,
        ends=over.ends,
    )
    return draw(points, frame)
