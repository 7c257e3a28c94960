"""Inequality: between groups by what they are owed, and between single documents."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from fairexp.arrays import Floats
from fairexp.errors import ArgumentError
from fairexp.lab.metrics.disparity import as_amounts
from fairexp.validation import as_shares


def max_min_share(exposure: ArrayLike, shares: ArrayLike) -> float:
    """What the worst-off group has of its due: min over g of (E_g / E) / (w_g / w), 1 where all have theirs.

    `exposure` (G,) is by group and `shares` (G,) what they are owed. This is what max-min fair rankers raise: Xu et
    al., P-MMF, WWW 2023.

    >>> max_min_share([3.0, 1.0], [1.0, 1.0])
    0.5
    """
    owed, given = as_shares(shares), as_amounts("exposure", exposure)
    if given.shape != owed.shape or not given.sum() > 0.0:
        raise ArgumentError("exposure", given.tolist(), f"{len(owed)} numbers, one per share, not all 0")
    return float(((given / given.sum()) / (owed / owed.sum())).min())


def gini(amounts: ArrayLike) -> float:
    """The Gini coefficient of `amounts` (n,): mean |x_i - x_j| over all pairs, over twice the mean; 0 if all are equal.

    1 - 1/n where one has everything; 0 where there is nothing. Gini, 1912; for exposure of items see Do et al.,
    NeurIPS 2021.

    >>> gini([1.0, 1.0]), gini([0.0, 0.0, 0.0, 2.0])
    (0.0, 0.75)
    """
    sorted_amounts = np.sort(as_amounts("amounts", amounts))
    n, total = len(sorted_amounts), sorted_amounts.sum()
    if n == 0 or not total > 0.0:
        return 0.0
    return float(_rank_weights(n) @ sorted_amounts / (n * total))


def item_disparity(exposure: ArrayLike, merit: ArrayLike) -> float:
    """How unequal documents' exposure per merit is: the mean over pairs i < j of |Exp_i / R_i - Exp_j / R_j|.

    `exposure` (n,) is what each document got, `merit` (n,) its relevance; documents without merit are owed nothing and
    are left out. 0 where fewer than two have merit. Morik, Singh, Hong and Joachims, FairCo, SIGIR 2020.

    >>> item_disparity([1.0, 0.5, 0.25], [2.0, 2.0, 0.0])
    0.25
    """
    given, deserved = as_amounts("exposure", exposure), as_amounts("merit", merit)
    if given.shape != deserved.shape:
        raise ArgumentError("merit", f"shape {deserved.shape}", f"shape {given.shape}, one per document")
    per_merit = np.sort(given[deserved > 0.0] / deserved[deserved > 0.0])
    n = len(per_merit)
    return float(2.0 * (_rank_weights(n) @ per_merit) / (n * (n - 1))) if n > 1 else 0.0


def _rank_weights(n: int) -> Floats:
    """2 i - n - 1 for i = 1..n: of sorted numbers, their sum with these is that of x_j - x_i over pairs i < j."""
    return np.asarray(2.0 * np.arange(1, n + 1) - n - 1.0, dtype=np.float64)
