"""Preferences between documents that clicks reveal."""

from __future__ import annotations

from math import sqrt

import numpy as np

from fairexp.arrays import Bools, Floats, Ints
from fairexp.kernels.pairrank.pairs import difference_rows, examined_positions

PAIRS = ("averaged", "independent", "all")
_NO_KEYS = np.zeros(0)


def examined(clicks: Bools) -> int:
    """How many positions the user is taken to have looked at: down to one below the last click; 0 without clicks.

    >>> examined(np.array([False, True, False, False]))
    3
    """
    return int(examined_positions(clicks))


def preference_rows(features: Floats, clicks: Bools, keys: Floats | None = None) -> Floats:
    """Differences (m, d) clicked minus examined-but-unclicked of the shown documents' `features` (k, d).

    Without `keys` every such pair counts. With random `keys` (k,) both sides are shuffled by them and matched one to
    one, so that each document is in at most one pair and the pairs' noise is independent.

    >>> preference_rows(np.eye(4), np.array([False, True, False, False]))
    array([[-1.,  1.,  0.,  0.],
           [ 0.,  1., -1.,  0.]])
    """
    return np.asarray(difference_rows(features, clicks, _NO_KEYS if keys is None else keys))


def scatter_rows(features: Floats, clicks: Bools) -> Floats:
    """At most n + 1 rows with the same sum of x x^T as all pairs of clicked and unclicked among n examined documents.

    With q the unclicked and p the clicked ones of `features` (n, d), that sum is q times the scatter of the clicked
    around their mean, p times that of the unclicked, and p q times the square of the means' difference.

    >>> rows = scatter_rows(np.eye(4), np.array([True, False, True, False]))
    >>> pairs = preference_rows(np.eye(4), np.array([True, False, True, False]))
    >>> np.allclose(rows.T @ rows, pairs.T @ pairs)
    True
    """
    clicked, unclicked = features[clicks], features[~clicks]
    n_clicked, n_unclicked = len(clicked), len(unclicked)
    rows = np.empty((len(features) + 1, features.shape[1]))
    above, below = clicked.sum(axis=0) / n_clicked, unclicked.sum(axis=0) / n_unclicked
    np.multiply(clicked - above, sqrt(n_unclicked), out=rows[:n_clicked])
    np.multiply(unclicked - below, sqrt(n_clicked), out=rows[n_clicked:-1])
    np.multiply(above - below, sqrt(n_clicked * n_unclicked), out=rows[-1])
    return rows


def matching_weight(grades: Bools | Ints, n_examined: int) -> float:
    """What each pair of different grades weighs if no document is to count for more than one comparison.

    With clicks only, that is the chance that a random matching one to one holds the pair: the weighted sum over all
    pairs is the mean over all matchings.

    >>> matching_weight(np.array([False, True, False, False]), 3)
    0.5
    """
    seen = grades[:n_examined]
    if seen.dtype == np.bool_:
        n_clicked = int(np.count_nonzero(seen))
        return 1.0 / max(n_clicked, n_examined - n_clicked)
    counts = np.bincount(seen)
    return 1.0 / float(n_examined - counts[counts > 0].min())


def graded_rows(features: Floats, grades: Ints, keys: Floats | None = None) -> Floats:
    """Differences (m, d) of the shown documents' `features` (k, d), higher grade minus lower, of those examined.

    A preference is one, however far the `grades` (k,) are apart. Without `keys` every pair of different grades counts.
    With them each document is in at most one pair: those of the highest grade are matched first, by the keys, with
    those of any lower one, then those of the next among what is left. With one grade this is `preference_rows`.

    >>> graded_rows(np.eye(4), np.array([1, 2, 0, 0]))
    array([[-1.,  1.,  0.,  0.],
           [ 0.,  1., -1.,  0.],
           [ 1.,  0., -1.,  0.]])
    """
    left, rows = np.arange(examined(grades > 0)), [np.empty((0, features.shape[1]))]
    for grade in np.unique(grades[grades > 0])[::-1]:
        winners, losers = left[grades[left] == grade], left[grades[left] < grade]
        if keys is None:
            rows.append((features[winners][:, None] - features[losers]).reshape(-1, features.shape[1]))
            left = losers
            continue
        winners, losers = (each[np.argsort(keys[each], kind="stable")] for each in (winners, losers))
        matched = min(len(winners), len(losers))
        rows.append(features[winners[:matched]] - features[losers[:matched]])
        left = np.sort(losers[matched:])
    return np.concatenate(rows)
