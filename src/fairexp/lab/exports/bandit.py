"""From a run to a log for off-policy work."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from fairexp.errors import ArgumentError
from fairexp.lab.data import Dataset
from fairexp.lab.exports.runs import KeptRun
from fairexp.lab.offpolicy.propensity import EXACT
from fairexp.lab.offpolicy.record import BanditLog
from fairexp.lab.simulation.meter import PlayedRound


def log_of_run(run: KeptRun) -> BanditLog:
    """The log of a run that has recorded what was shown and clicked, and propensities."""
    columns = ("query", "shown", "clicked", "propensity", "propensity_kind", "list_log_propensity")
    rounds = run.trace(*columns).to_pylist()
    clicks = []
    for row in rounds:
        clicked = np.zeros(len(row["shown"]))
        clicked[[place - 1 for place in row["clicked"]]] = 1.0
        clicks.append(clicked)
    return _log(
        run.train,
        queries=[row["query"] for row in rounds],
        shown=[np.array(row["shown"], dtype=np.int64) for row in rounds],
        clicks=clicks,
        propensity=[np.array(row["propensity"]) for row in rounds],
        exact=[row["propensity_kind"] == EXACT for row in rounds],
        log_list=[row["list_log_propensity"] for row in rounds],
    )


def log_of_rounds(train: Dataset, rounds: Iterable[PlayedRound]) -> BanditLog:
    """The log of rounds on `train` as they were played, with their propensities."""
    played = [(each, each.propensity) for each in rounds]
    known = [(each, found) for each, found in played if found is not None]
    if len(known) < len(played):
        raise ArgumentError("rounds", "rounds without propensities", "those of play(..., propensity=...)")
    return _log(
        train,
        queries=[each.query for each, _ in known],
        shown=[each.ranking.shown for each, _ in known],
        clicks=[each.clicks.astype(np.float64) for each, _ in known],
        propensity=[found.positions for _, found in known],
        exact=[found.kind == EXACT for _, found in known],
        log_list=[found.log_list for _, found in known],
    )


def _log(
    train: Dataset,
    *,
    queries: list[int],
    shown: list[np.ndarray[tuple[int], np.dtype[np.int64]]],
    clicks: list[np.ndarray[tuple[int], np.dtype[np.float64]]],
    propensity: list[np.ndarray[tuple[int], np.dtype[np.float64]]],
    exact: list[bool],
    log_list: list[float | None],
) -> BanditLog:
    """Contexts are the queries that were served, in the order of the data."""
    served, context = np.unique(np.array(queries, dtype=np.int64), return_inverse=True)
    part = train.subset(served)
    return BanditLog(
        features=np.concatenate([part.query(number).features for number in range(part.n_queries)]),
        starts=part.offsets,
        context=context.reshape(-1),
        offsets=np.concatenate([[0], np.cumsum([len(each) for each in shown])]).astype(np.int64),
        shown=np.concatenate(shown),
        reward=np.concatenate(clicks),
        propensity=np.concatenate(propensity),
        log_list=np.array([np.nan if log is None else log for log in log_list]),
        groups=None if part.groups is None else np.asarray(part.groups),
        exact=np.array(exact),
        query_ids=part.query_ids,
        feature_names=part.feature_names,
    )
