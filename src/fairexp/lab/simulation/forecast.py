"""What can be known of a run before it: data that teaches nothing, and fairness that is impossible."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np

from fairexp.fairness.feasibility import ROUNDS, Feasibility, feasibility
from fairexp.lab.data import Dataset
from fairexp.lab.simulation.environment import Targets
from fairexp.ranker import Ranker

TRAINING, HELDOUT, VALIDATION = "training data", "held-out data", "validation data"


def forecast(
    ranker: Ranker,
    train: Dataset,
    targets: Targets,
    *,
    rounds: int,
    heldout: Dataset | None = None,
    validation: Dataset | None = None,
) -> list[str]:
    """What a person should know before a run and beside its result, in sentences: nothing where all is well."""
    notes = [*train.notes, *_about_grades(train, TRAINING)]
    for name, other in ((HELDOUT, heldout), (VALIDATION, validation)):
        if other is not None:
            notes += [*_about_overlap(train, other, name), *(_about_grades(other, name) if other is not train else ())]
    return notes + _about_fairness(ranker, train, targets, rounds)


def by_user(notes: Iterable[tuple[str, Sequence[str]]]) -> list[str]:
    """The notes of runs with several kinds of users, each once; those that not all users have say whose they are.

    >>> by_user([("perfect", ["a", "b"]), ("informational", ["a"])])
    ['a', 'perfect users: b']
    """
    users: dict[str, None] = {}
    whose: dict[str, dict[str, None]] = {}
    for user, own in notes:
        users[user] = None
        for note in own:
            whose.setdefault(note, {})[user] = None
    return [
        note if len(having) == len(users) else f"{' and '.join(having)} users: {note}" for note, having in whose.items()
    ]


@lru_cache(maxsize=8)
def _about_grades(data: Dataset, name: str) -> tuple[str, ...]:
    """Where no order of any query's documents is better than another."""
    starts = data.offsets[:-1]
    best = np.maximum.reduceat(data.grades, starts)
    if not best.any():
        return (f"{name}: all grades are 0, so nothing is relevant, and NDCG and clicks on it say nothing.",)
    if np.array_equal(best, np.minimum.reduceat(data.grades, starts)):
        return (f"{name}: no query has documents of different grades, so every order is as good as any other.",)
    return ()


@lru_cache(maxsize=8)
def _about_overlap(train: Dataset, other: Dataset, name: str) -> tuple[str, ...]:
    """Where queries that quality is measured on are also learned from."""
    shared = n_shared(train, other)
    if not shared:
        return ()
    part = "all" if shared == other.n_queries else f"{shared:,} of the"
    return (
        f"{name}: {part} {other.n_queries:,} queries are also in the training data, so NDCG on it does not say how "
        "well the ranker does on queries that it has not learned from.",
    )


def n_shared(train: Dataset, other: Dataset) -> int:
    """How many queries of `other` are in `train` too: the same documents with the same grades, whatever their ids."""
    if train is other:
        return other.n_queries
    if train.n_features != other.n_features:
        return 0
    known: dict[tuple[bytes, bytes], list[int]] = {}
    for index in range(train.n_queries):
        known.setdefault(_mark(train, index), []).append(index)
    return sum(
        any(
            np.array_equal(other.features[other.rows(index)], train.features[train.rows(same)])
            for same in known.get(_mark(other, index), ())
        )
        for index in range(other.n_queries)
    )


def _mark(data: Dataset, index: int) -> tuple[bytes, bytes]:
    """What a query is looked up by: its grades and its first document."""
    rows = data.rows(index)
    return np.asarray(data.grades[rows], dtype=np.int64).tobytes(), data.features[rows.start].tobytes()


def _about_fairness(ranker: Ranker, train: Dataset, targets: Targets, rounds: int) -> list[str]:
    if train.groups is None or targets.shares is None:
        return []
    names = train.group_names or [str(group) for group in range(train.n_groups)]
    first = int(train.groups[0])
    if (train.groups == first).all():
        return [f"fairness: all documents are in one group, {names[first]!r}, so no list can share exposure fairly."]
    tolerance = ranker.held_to()
    if tolerance is None:
        return []
    owed, curve = tuple(targets.shares.tolist()), tuple(targets.exposure.tolist())
    told = _feasibility(train, owed, tolerance, curve, min(rounds, ROUNDS))
    return told.notes(names)


@lru_cache(maxsize=8)
def _feasibility(
    train: Dataset, shares: tuple[float, ...], tolerance: float, exposure: tuple[float, ...], rounds: int
) -> Feasibility:
    """Kept, because runs of several users and rankers ask for the same."""
    return feasibility(train.group_counts(), exposure=exposure, shares=shares, tolerance=tolerance, rounds=rounds)
