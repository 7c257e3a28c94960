"""One simulated run, from settings to result."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from fairexp.arrays import Floats
from fairexp.data import Dataset
from fairexp.errors import RunExistsError
from fairexp.randomness import make_rng
from fairexp.rankers.base import Ranker
from fairexp.simulation.interrupts import Interrupts
from fairexp.simulation.loop import play
from fairexp.simulation.trace import Meter, Trace, checkpoints, heldout_ndcg
from fairexp.users import User

SETTINGS, TRACE, RESULT = "settings.json", "trace.parquet", "result.json"


@dataclass(slots=True)
class Result:
    """What a run came to. `offline_ndcg` is held-out NDCG at the last checkpoint: the last round of a whole run."""

    rounds: int
    online_ndcg: float
    offline_ndcg: float | None
    max_unfairness: float | None
    mean_unfairness: float | None
    final_unfairness: float | None
    mean_added_regret: float
    mean_misordered_pairs: float
    qualified_share: float | None
    rounds_per_second: float
    interrupted: bool = False
    validation_ndcg: float | None = None
    """Held-out NDCG on the queries that parameters are chosen on, after the last round."""
    points: list[dict[str, Any]] = field(default_factory=list, repr=False)
    """The trace's rows at the checkpoints."""

    def summary(self) -> dict[str, Any]:
        """All but the points, for `result.json`."""
        kept = asdict(self)
        kept.pop("points")
        return kept


def simulate(
    ranker: Ranker,
    train: Dataset,
    user: User,
    *,
    rounds: int,
    exposure: Floats,
    shares: Floats | None = None,
    heldout: Dataset | None = None,
    validation: Dataset | None = None,
    seed: int | np.random.SeedSequence = 0,
    n_points: int = 40,
    folder: Path | None = None,
    settings: dict[str, Any] | None = None,
    progress: Callable[[dict[str, Any]], None] | None = None,
) -> Result:
    """Play `rounds` rounds and measure them; with `folder`, keep settings, trace and result there.

    `exposure` (k,) by position and `shares` (G,) are what unfairness is measured by, for fair rankers and others
    alike. `heldout` is evaluated on at checkpoints, `validation` after the last round. `seed` draws the queries;
    ranker and user bring their own. An interrupt (Ctrl-C) ends the run at the end of the round, with all rounds so far
    kept, and `interrupted` True; so does a KeyboardInterrupt that `progress` raises. A second one is raised at once.
    """
    meter = Meter(exposure=exposure, shares=shares)
    marks = checkpoints(rounds, n_points)
    tally = _Tally()
    interrupted = False
    started = time.perf_counter()
    with ExitStack() as stack:
        interrupts = stack.enter_context(Interrupts())
        trace = None
        if folder is not None:
            _claim(folder, settings or {})
            trace = stack.enter_context(Trace(folder / TRACE))
        for played in play(ranker, _unwrapped(train), user, rounds=rounds, rng=make_rng(seed)):
            row = meter.row(played)
            if played.number in marks:
                row["heldout_ndcg"] = None if heldout is None else heldout_ndcg(ranker, heldout)
                tally.points.append(row)
            tally.add(row)
            if trace is not None:
                trace.write(row)
            if interrupts.wanted or not _goes_on(progress, row):
                interrupted = True
                break
    seconds = time.perf_counter() - started
    result = tally.result(seconds=seconds, interrupted=interrupted)
    if validation is not None and not interrupted:
        result.validation_ndcg = heldout_ndcg(ranker, validation)
    if folder is not None:
        (folder / RESULT).write_text(json.dumps(result.summary(), indent=2) + "\n")
    return result


def _goes_on(progress: Callable[[dict[str, Any]], None] | None, row: dict[str, Any]) -> bool:
    try:
        if progress is not None:
            progress(row)
    except KeyboardInterrupt:
        return False
    return True


def _unwrapped(dataset: Dataset) -> Dataset:
    """The same data with plain views of its memory-mapped arrays: cutting a query out of a map takes longer."""
    groups = None if dataset.groups is None else np.asarray(dataset.groups)
    return replace(dataset, features=np.asarray(dataset.features), grades=np.asarray(dataset.grades), groups=groups)


def _claim(folder: Path, settings: dict[str, Any]) -> None:
    """Make the run folder and note the settings; a folder that holds a run is left alone."""
    if (folder / SETTINGS).exists():
        raise RunExistsError(f"{folder}: holds a run already; choose another folder or pass --overwrite")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / SETTINGS).write_text(json.dumps(settings, indent=2) + "\n")


@dataclass(slots=True)
class _Tally:
    """Running sums over rows."""

    last: dict[str, Any] = field(default_factory=dict)
    points: list[dict[str, Any]] = field(default_factory=list)
    n: int = 0
    added_regret: int = 0
    misordered: int = 0
    n_qualified: int = 0
    max_unfairness: float = -math.inf
    sum_unfairness: float = 0.0

    def add(self, row: dict[str, Any]) -> None:
        self.last = row
        self.n += 1
        self.added_regret += row["added_regret"]
        self.misordered += row["misordered_pairs"]
        self.n_qualified += bool(row["qualified"])
        if "unfairness" in row:
            self.max_unfairness = max(self.max_unfairness, row["unfairness"])
            self.sum_unfairness += row["unfairness"]

    def result(self, *, seconds: float, interrupted: bool) -> Result:
        n = max(self.n, 1)
        audited = "unfairness" in self.last
        return Result(
            rounds=self.n,
            online_ndcg=float(self.last.get("online_ndcg", 0.0)),
            offline_ndcg=self.points[-1]["heldout_ndcg"] if self.points else None,
            max_unfairness=self.max_unfairness if audited else None,
            mean_unfairness=self.sum_unfairness / n if audited else None,
            final_unfairness=float(self.last["unfairness"]) if audited else None,
            mean_added_regret=self.added_regret / n,
            mean_misordered_pairs=self.misordered / n,
            qualified_share=None if self.last.get("qualified") is None else self.n_qualified / n,
            rounds_per_second=self.n / max(seconds, 1e-9),
            interrupted=interrupted,
            points=self.points,
        )
