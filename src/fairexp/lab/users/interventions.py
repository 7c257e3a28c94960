"""Sessions with rankings that were changed on purpose, from which examination can be estimated without bias.

Two designs: shuffle the whole list (`randomised_clicks`), or, kinder to real users, exchange position 1 with one
other position in half of the sessions (`swapped_clicks`; Joachims, Swaminathan and Schnabel, WSDM 2017).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from reprlib import repr as short_repr
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from fairexp.arrays import Bools, Ints
from fairexp.errors import ArgumentError
from fairexp.kernels.data.clicks import shuffled_tops
from fairexp.lab.users.base import User
from fairexp.randomness import Seed, make_rng
from fairexp.validation import as_numbers, check_callable, check_count, check_kind

CHUNK = 4096
"""Sessions simulated at once: bounds the memory, and is how often `on_progress` is called."""

Progress = Callable[[int], object]


class Graded(Protocol):
    """What is needed of a data set: `grades` (N,), and `offsets` (Q + 1,) where each query begins and ends."""

    @property
    def grades(self) -> Ints: ...

    @property
    def offsets(self) -> Ints: ...


def randomised_clicks(
    dataset: Graded,
    user: User,
    *,
    length: int = 10,
    n_sessions: int = 100_000,
    seed: Seed = None,
    on_progress: Progress | None = None,
) -> Bools:
    """Clicks (n_sessions, length) on uniformly shuffled lists of queries drawn uniformly with replacement.

    Only queries with at least `length` documents take part: shorter ones would make low positions look unattended.
    `on_progress` is called with the number of sessions done.
    """
    offsets, queries = _long_enough(dataset, user, length)
    rng = make_rng(seed)
    clicks = np.empty((check_count("n_sessions", n_sessions), length), dtype=np.bool_)
    for rows in _chunks(n_sessions, on_progress):
        chosen = queries[rng.integers(len(queries), size=rows.stop - rows.start)]
        tops = shuffled_tops(offsets[chosen + 1] - offsets[chosen], rng.random((len(chosen), length)))
        clicks[rows] = user.visit_many(dataset.grades[offsets[chosen][:, np.newaxis] + tops]).clicks
    return clicks


def swapped_clicks(
    dataset: Graded,
    user: User,
    *,
    length: int = 10,
    n_sessions: int = 100_000,
    scores: ArrayLike | None = None,
    seed: Seed = None,
    on_progress: Progress | None = None,
) -> tuple[Bools, Ints]:
    """Clicks (n_sessions, length) where a coin decides whether positions 1 and `partner` (n_sessions,) change places.

    The usual list of a query is by `scores` (N,), the highest first, or in the order of the data set where none are
    given. Each session draws its partner uniformly from 2 to `length`; it is recorded whether or not the coin fell for
    the exchange.
    """
    if check_count("length", length) < 2:
        raise ArgumentError("length", length, "at least 2 positions to exchange")
    offsets, queries = _long_enough(dataset, user, length)
    usual = _usual_tops(offsets, queries, length, scores, n_documents=len(dataset.grades))
    rng = make_rng(seed)
    clicks = np.empty((check_count("n_sessions", n_sessions), length), dtype=np.bool_)
    partner = rng.integers(2, length, size=n_sessions, endpoint=True)
    for rows in _chunks(n_sessions, on_progress):
        lists = usual[rng.integers(len(queries), size=rows.stop - rows.start)]
        exchanged = np.flatnonzero(rng.random(len(lists)) < 0.5)
        other = partner[rows][exchanged] - 1
        top = lists[exchanged, 0]
        lists[exchanged, 0] = lists[exchanged, other]
        lists[exchanged, other] = top
        clicks[rows] = user.visit_many(dataset.grades[lists]).clicks
    return clicks, partner


def _long_enough(dataset: Graded, user: User, length: int) -> tuple[Ints, Ints]:
    """The offsets (Q + 1,), and the queries that have at least `length` documents."""
    if not (hasattr(dataset, "grades") and hasattr(dataset, "offsets")):
        raise ArgumentError("dataset", short_repr(dataset), "a Dataset, or what has its grades and offsets")
    check_kind("user", user, User, "a user, such as load_user() returns")
    check_count("length", length)
    offsets = np.asarray(dataset.offsets, dtype=np.int64)
    sizes = np.diff(offsets)
    queries = np.flatnonzero(sizes >= length)
    if not queries.size:
        longest = int(sizes.max()) if sizes.size else 0
        raise ArgumentError("length", length, f"at most {longest}, the documents of the largest query of the data")
    return offsets, queries


def _usual_tops(offsets: Ints, queries: Ints, length: int, scores: ArrayLike | None, *, n_documents: int) -> Ints:
    """The first `length` rows of each of `queries` by score, (len(queries), length)."""
    if scores is None:
        return offsets[queries][:, np.newaxis] + np.arange(length)
    given = as_numbers("scores", scores, n=n_documents, each="document")
    if np.isnan(given).any():
        raise ArgumentError("scores", f"NaN at index {int(np.isnan(given).argmax())}", "numbers")
    tops = np.empty((len(queries), length), dtype=np.int64)
    for row, query in enumerate(queries):
        begin, end = offsets[query], offsets[query + 1]
        tops[row] = begin + np.argsort(-given[begin:end], kind="stable")[:length]
    return tops


def _chunks(n_sessions: int, on_progress: Progress | None) -> Iterator[slice]:
    check_callable("on_progress", on_progress)
    for start in range(0, n_sessions, CHUNK):
        stop = min(start + CHUNK, n_sessions)
        yield slice(start, stop)
        if on_progress is not None:
            on_progress(stop)
