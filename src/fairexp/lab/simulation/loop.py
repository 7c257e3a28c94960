"""The loop in which a ranker and users meet, measured from outside and kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairexp.lab.data import Dataset
from fairexp.lab.simulation.disparities import Disparities
from fairexp.lab.simulation.environment import Targets
from fairexp.lab.simulation.interrupts import Interrupts
from fairexp.lab.simulation.meter import GradedOrders, Meter, PlayedRound, checkpoints
from fairexp.lab.simulation.recorder import Recorder, Recording
from fairexp.lab.simulation.result import TRACE, Result, Tally, claim_folder
from fairexp.lab.simulation.trace import Trace
from fairexp.lab.users import User
from fairexp.measures import HELDOUT_NDCG
from fairexp.randomness import make_rng
from fairexp.ranker import Ranker
from fairexp.types import Query

if TYPE_CHECKING:
    from fairexp.lab.offpolicy.propensity import Propensity


def play(
    ranker: Ranker,
    dataset: Dataset,
    user: User,
    *,
    rounds: int,
    rng: np.random.Generator,
    first: int = 1,
    propensity: Callable[[Ranker, Query], Propensity | None] = lambda ranker, query: None,
) -> Iterator[PlayedRound]:
    """Serve `rounds` queries, each drawn uniformly with replacement, and learn from the user's clicks.

    `propensity` is asked, before each ranking, how probable it is going to be.
    """
    for number in range(first, first + rounds):
        index = int(rng.integers(dataset.n_queries))
        relevance = dataset.relevance(index)
        query = dataset.query(index)
        probable = propensity(ranker, query)
        ranking = ranker.rank(query)
        visit = user.visit(ranking, relevance)
        ranker.update(ranking, visit.clicks)
        yield PlayedRound(number, index, ranking, relevance, visit.clicks, visit.examined, probable)


def play_measured(
    ranker: Ranker,
    train: Dataset,
    user: User,
    *,
    rounds: int,
    targets: Targets,
    heldout: Dataset | None,
    validation: Dataset | None,
    seed: int | np.random.SeedSequence,
    n_points: int,
    irrelevant: str,
    folder: Path | None,
    settings: Mapping[str, Any],
    recording: Recording,
    progress: Callable[[dict[str, Any]], None] | None,
    notes: Sequence[str],
) -> Result:
    """Play `rounds` rounds and measure them; with `folder`, keep settings, trace and result there.

    The arguments are those of `fairexp.lab.simulation.simulate`, checked; `notes` go with the result.
    """
    exposure, shares = targets
    meter = Meter(exposure=exposure, shares=shares, irrelevant=irrelevant)
    disparities, orders = Disparities(exposure=exposure, shares=shares), GradedOrders(ranker)
    marks = checkpoints(rounds, n_points)
    recorder = Recorder(recording, train, exposure=exposure, shares=shares, seed=seed)
    tally = Tally()
    interrupted = False
    started = time.perf_counter()
    with ExitStack() as stack:
        interrupts = stack.enter_context(Interrupts())
        trace = None
        if folder is not None:
            claim_folder(folder, settings)
            trace = stack.enter_context(Trace(folder / TRACE))
        data, rng = _unwrapped(train), make_rng(seed)
        for played in play(ranker, data, user, rounds=rounds, rng=rng, propensity=recorder.propensity):
            row = meter.row(played) | recorder.columns(played)
            disparities.add(played)
            orders.add(played)
            if played.number in marks:
                row[HELDOUT_NDCG.name] = None if heldout is None else meter.heldout_ndcg(ranker, heldout)
                tally.points.append(row)
            tally.add(row)
            if trace is not None:
                trace.write(row)
            if interrupts.wanted or not _goes_on(progress, row):
                interrupted = True
                break
    seconds = time.perf_counter() - started
    measured = meter.heldout_ndcg(ranker, validation) if validation is not None and not interrupted else None
    result = tally.result(seconds=seconds, interrupted=interrupted, validation_ndcg=measured)
    result.notes = tuple(notes)
    result.reliability = orders.reliability()
    result.measures.update(disparities.measures() | recorder.measures())
    if folder is not None:
        result.write(folder)
        recorder.keep(ranker, folder)
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
