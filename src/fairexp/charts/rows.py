"""Traces of runs as tidy rows for charts, and rows summed up over seeds."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairexp.errors import DataError
from fairexp.metrics import total_discount
from fairexp.simulation.run import SETTINGS, TRACE
from fairexp.simulation.trace import checkpoints

Row = dict[str, Any]
FINE = 150
"""About how many rows a run gives."""
MEASURES = ("online", "heldout", "unfairness")


def read_rows(folders: Iterable[Path]) -> list[Row]:
    """The rows of several run folders, one after the other."""
    return [row for folder in folders for row in read_run(folder)]


def read_run(folder: Path) -> list[Row]:
    """A run's trace at some rounds: ranker, user, seed, round, and the `MEASURES` (None where not measured).

    `online` is the discounted mean NDCG of all that was shown so far, `heldout` that of the ranker's scores on
    held-out queries, and `unfairness` the largest since the row before: no excursion is lost between points.
    """
    from pyarrow import parquet

    try:
        settings = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))
        trace = parquet.read_table(folder / TRACE).to_pydict()
    except OSError as error:
        raise DataError(folder, f"is not the folder of a run ({error})") from error
    marks = _marks(settings["rounds"], settings["n_points"], len(trace["round"]))
    unfairness = trace.get("unfairness")
    rows = []
    start = 0
    for mark in marks:
        rows.append(
            {
                **{key: settings[key] for key in ("ranker", "user", "seed")},
                "round": mark,
                "online": trace["online_ndcg"][mark - 1] / total_discount(mark),
                "heldout": trace["heldout_ndcg"][mark - 1],
                "unfairness": None if unfairness is None else max(unfairness[start:mark]),
            }
        )
        start = mark
    return rows


def _marks(rounds: int, n_points: int, played: int) -> list[int]:
    """The rounds to keep of those `played`: the run's checkpoints, and enough between them for a spike to look thin."""
    step = max(rounds // FINE, 1)
    between = range(step, played + 1, step)
    return sorted({mark for mark in checkpoints(rounds, n_points) if mark <= played} | {*between, played})


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
