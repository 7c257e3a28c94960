"""The ways to mix lists, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fairexp.arrays import Floats
from fairexp.errors import ArgumentError
from fairexp.interleaving.mixed import Interleaved
from fairexp.interleaving.probabilistic import probabilistic
from fairexp.interleaving.team_draft import team_draft
from fairexp.randomness import Seed, make_rng
from fairexp.validation import check_choice

METHODS: dict[str, Callable[..., Interleaved]] = {
    "team-draft": team_draft,
    "probabilistic": probabilistic,
}


def mix(scores: Floats, *, length: int = 10, method: str = "team-draft", rng: np.random.Generator) -> Interleaved:
    """Mix the lists of r rankers that give documents these `scores` (r, n); documents are their numbers 0 to n - 1."""
    return METHODS[check_choice("method", method, tuple(METHODS))](scores, length=length, rng=rng)


def interleave(
    lists: Sequence[ArrayLike],
    *,
    length: int = 10,
    method: str = "team-draft",
    seed: Seed | np.random.Generator = None,
) -> Interleaved:
    """Mix two lists or more, each of documents from the best down: whole numbers or texts, no document twice.

    Lists may be of different lengths and of different documents. `method` is one of `METHODS`.

    >>> interleave([[10, 20, 30], [10, 40]], length=3, seed=1).shown[0]
    np.int64(10)
    """
    documents, scores = _scores(lists)
    rng = seed if isinstance(seed, np.random.Generator) else make_rng(seed)
    mixed = mix(scores, length=length, method=method, rng=rng)
    return replace(mixed, shown=documents[mixed.shown])


def _scores(lists: Sequence[ArrayLike]) -> tuple[Any, Floats]:
    """All documents (n,), and as the score (r, n) of each its place from the end; minus infinity if it has none."""
    given = [np.asarray(each) for each in lists]
    if len(given) < 2:
        raise ArgumentError("lists", f"{len(given)}", "at least two", "Pass one list of documents for each ranker.")
    for number, each in enumerate(given):
        if each.ndim != 1 or each.dtype.kind not in "iuU":
            problem = f"shape {each.shape} of {each.dtype}"
            raise ArgumentError(f"lists[{number}]", problem, "documents as whole numbers or texts, in one row")
        if len(np.unique(each)) < len(each):
            raise ArgumentError(f"lists[{number}]", "a document twice", "documents that differ from each other")
    if len({each.dtype.kind == "U" for each in given}) > 1:
        raise ArgumentError("lists", "texts and numbers", "documents of one kind", "Name all of them the same way.")
    documents, places = np.unique(np.concatenate(given), return_inverse=True)
    scores = np.full((len(given), len(documents)), -np.inf)
    end = np.cumsum([len(each) for each in given])
    for row, each, last in zip(scores, given, end, strict=True):
        row[places[last - len(each) : last]] = -np.arange(len(each), dtype=np.float64)
    return documents, scores
