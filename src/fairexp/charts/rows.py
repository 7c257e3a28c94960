"""Points of charts: rows summed up over seeds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

Row = dict[str, Any]


def over_seeds(rows: Sequence[Row], measure: str) -> list[Row]:
    """For each ranker and round: the mean of `measure` over seeds as `value`, and the range from `low` to `high`.

    >>> rows = [{"ranker": "a", "round": 1, "seed": s, "online": v} for s, v in ((0, 0.25), (1, 0.75))]
    >>> over_seeds(rows, "online")
    [{'ranker': 'a', 'round': 1, 'value': 0.5, 'low': 0.25, 'high': 0.75, 'seeds': 2}]
    """
    values: dict[tuple[str, int], list[float]] = {}
    for row in rows:
        if row[measure] is not None:
            values.setdefault((row["ranker"], row["round"]), []).append(row[measure])
    return [
        {
            "ranker": ranker,
            "round": at,
            "value": math.fsum(found) / len(found),
            "low": min(found),
            "high": max(found),
            "seeds": len(found),
        }
        for (ranker, at), found in values.items()
    ]


@dataclass(frozen=True)
class Summing:
    """How rows that differ by seed are summed up to points (see `over_seeds`), and what their `ends` are called."""

    points: Callable[[Sequence[Row], str], list[Row]]
    ends: tuple[str, str]


RANGE = Summing(over_seeds, ("lowest seed", "highest seed"))
