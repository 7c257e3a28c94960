"""The least gaps that a list can have under any number of demands, for rounds where no search by cost met them all."""

from __future__ import annotations

from functools import lru_cache
from math import factorial, inf, nextafter

import numpy as np

from fairexp.arrays import Floats, Ints
from fairexp.kernels.demands.rankings import RankingSearch
from fairexp.kernels.search.gaps import SLACK
from fairexp.kernels.search.least_gap import LeastGap, Words
from fairexp.kernels.search.owed import Owed
from fairexp.kernels.search.templates import Search

EXHAUSTIVE = 2.0**20
"""Lists of up to so many templates are all compared, whatever the effort."""

MOST_WORDS = 4_096
"""Most words of each of the two parts of a list with more templates, of which pairs are compared."""


def least_gaps(search: Search | RankingSearch, known: Ints, effort: int) -> tuple[Ints, Floats, Floats]:
    """A template (k,) of the least gaps found, demand by demand, these gaps (C,), and what they are at least (C,).

    `search` is one that found no list within all tolerances, and `known` some template of its round.
    """
    owed = search.owed
    finder = LeastGap(
        search.round, owed, search.exchanges, *_parts(np.asarray(search.round.P), owed, search.round.size)
    )
    finder.search(known, effort)
    gaps, is_met = np.array(finder.gap), np.asarray(finder.gap) <= np.asarray(owed.tolerance) + SLACK
    bounds = np.where(is_met, 0.0, finder.bound)
    if search.impossible and not is_met.all():
        first = int(is_met.argmin())
        bounds[first] = max(bounds[first], nextafter(owed.tolerance[first] + SLACK, inf))
    return np.array(finder.template), gaps, bounds


def _parts(curve: Floats, owed: Owed, sizes: Ints) -> tuple[Words, Words]:
    """The words of the two parts: of the whole list where all templates are compared, else of its last positions."""
    k, half = len(curve), len(curve) // 2
    counts = tuple(min(size, k) for size in np.asarray(sizes).tolist())
    upper, lower = curve[: k - half], curve[k - half :]
    if max(n_words(upper, counts), n_words(lower, counts)) > MOST_WORDS and n_words(curve, counts) > EXHAUSTIVE:
        length = 1
        while len(counts) ** (length + 1) <= MOST_WORDS and 2 * length + 2 <= k:
            length += 1
        upper, lower = curve[k - 2 * length : k - length], curve[k - length :]
    return _words(upper, owed, counts), _words(lower, owed, counts)


def n_words(curve: Floats, sizes: tuple[int, ...]) -> float:
    """In how many ways positions of this curve can go to classes of these sizes; positions of a flat one are alike.

    >>> n_words(np.array([1.0, 0.5, 0.3]), (3, 1)), n_words(np.ones(3), (3, 3))
    (4.0, 4.0)
    """
    length, flat = len(curve), len(set(curve.tolist())) < 2
    ways = np.zeros(length + 1)
    ways[0] = 1.0
    for size in sizes:
        each = [1.0 if flat else 1.0 / factorial(n) for n in range(min(size, length, 150) + 1)]
        ways = np.convolve(ways, each)[: length + 1]
    return float(np.round(ways[length] if flat else ways[length] * factorial(min(length, 150))))


def _words(curve: Floats, owed: Owed, sizes: tuple[int, ...]) -> Words:
    """The words for these positions. Where they are few enough with any number of a class, these are kept."""
    column, watched = np.asarray(owed.column), np.asarray(owed.watched).tolist()
    keys = watched[0], watched[-1]
    if len(sizes) ** len(curve) <= MOST_WORDS:
        return _all_words(curve.tobytes(), column.tobytes(), len(sizes), owed.n_columns, keys)
    return Words(curve, column, owed.n_columns, np.array(sizes), keys)


@lru_cache(maxsize=64)
def _all_words(curve: bytes, column: bytes, n_classes: int, n_columns: int, keys: tuple[int, int]) -> Words:
    positions, columns = np.frombuffer(curve), np.frombuffer(column, dtype=np.int64).reshape(n_classes, -1)
    return Words(positions, columns, n_columns, np.full(n_classes, len(positions)), keys)
