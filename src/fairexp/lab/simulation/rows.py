"""Traces of runs as tidy rows, for charts."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import accumulate
from pathlib import Path
from typing import Any

from fairexp.errors import DataError
from fairexp.lab.simulation.meter import checkpoints
from fairexp.lab.simulation.result import SETTINGS, TRACE
from fairexp.measures import HELDOUT_NDCG, MAX_UF, MEAN_ONLINE_NDCG, UF

Row = dict[str, Any]
FINE = 150
"""About how many rows a run gives."""


def read_rows(folders: Iterable[Path]) -> list[Row]:
    """The rows of several run folders, one after the other."""
    return [row for folder in folders for row in read_run(folder)]


def read_run(folder: Path) -> list[Row]:
    """A run's trace at some rounds: ranker, user, seed, round, and measures by name (None where not measured).

    These are mean online NDCG, held-out NDCG, unfairness after the round, and the largest of any round so far.
    """
    from pyarrow import parquet

    try:
        settings = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))
        trace = parquet.read_table(folder / TRACE).to_pydict()
    except OSError as error:
        raise DataError(folder, f"is not the folder of a run ({error})") from error
    missing = [key for key in ("ranker", "user", "seed", "rounds", "n_points") if key not in settings]
    if missing:
        raise DataError(folder / SETTINGS, f"{', '.join(missing)} missing; expected what `simulate` writes there")
    marks = _marks(settings["rounds"], settings["n_points"], len(trace["round"]))
    gaps = trace.get(UF.name)
    largest = None if gaps is None else list(accumulate(gaps, max))
    same = {key: settings[key] for key in ("ranker", "user", "seed")}
    return [
        {
            **same,
            "round": mark,
            MEAN_ONLINE_NDCG.name: trace[MEAN_ONLINE_NDCG.name][mark - 1],
            HELDOUT_NDCG.name: trace[HELDOUT_NDCG.name][mark - 1],
            UF.name: None if gaps is None else gaps[mark - 1],
            MAX_UF.name: None if largest is None else largest[mark - 1],
        }
        for mark in marks
    ]


def _marks(rounds: int, n_points: int, played: int) -> list[int]:
    """The rounds to keep of those `played`: the run's checkpoints, and enough between them for a spike to look thin."""
    step = max(rounds // FINE, 1)
    between = range(step, played + 1, step)
    return sorted({mark for mark in checkpoints(rounds, n_points) if mark <= played} | {*between, played})
