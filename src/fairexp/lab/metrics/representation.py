"""Representation: how far the groups of one ranking are from the distribution that they are owed."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from fairexp.arrays import Floats, Ints
from fairexp.errors import ArgumentError
from fairexp.lab.metrics.ndcg import discounts
from fairexp.lab.metrics.unfairness import exposure_by_group
from fairexp.validation import as_groups, as_shares


def awrf(template: ArrayLike, exposure: ArrayLike, shares: ArrayLike) -> float:
    """Attention-weighted rank fairness of a ranking: 1 - JS(a, s), from 0 to 1 where attention is just as owed.

    `template` (m,) are the groups from the top down, `exposure` by position, `shares` (G,) what groups are owed. a is
    the distribution of the ranking's attention over groups, s that of the shares, and JS the Jensen-Shannon divergence
    to the base 2. Sapiezynski et al., WWW companion 2019; in this form in the TREC Fair Ranking Track 2021.

    >>> round(awrf([0, 0], [1.0, 0.5], [1.0, 1.0]), 4), awrf([0, 1, 1], [1.0, 0.5, 0.5], [1.0, 1.0])
    (0.6887, 1.0)
    """
    owed = as_shares(shares)
    attention = exposure_by_group(template, exposure, n_groups=len(owed))
    total = attention.sum()
    if not total > 0.0:
        raise ArgumentError("template", "no attention at all", "a ranking whose positions are seen")
    given, due = attention / total, owed / owed.sum()
    middle = (given + due) / 2.0
    return 1.0 - (_divergence(given, middle) + _divergence(due, middle)) / (2.0 * float(np.log(2.0)))


def ndkl(template: ArrayLike, shares: ArrayLike) -> float:
    """Normalised discounted cumulative KL divergence of a ranking, 0 where every prefix is as owed.

    sum over p of KL(D_p || s) / log2(p + 1), over the sum of 1 / log2(p + 1): D_p is the distribution of groups among
    the first p positions of `template` (m,), and s that of `shares` (G,); natural logarithms. Geyik, Ambler and
    Kenthapadi, KDD 2019.

    >>> round(ndkl([0, 1], [1.0, 1.0]), 4), round(ndkl([0, 0], [1.0, 1.0]), 4)
    (0.425, 0.6931)
    """
    owed, given = as_shares(shares), np.asarray(template)
    groups: Ints = as_groups(given, n=given.size, name="template")
    if groups.size == 0 or groups.max() >= len(owed):
        found = "no positions" if groups.size == 0 else f"group {groups.max()}"
        raise ArgumentError("template", found, f"positions with groups 0 to {len(owed) - 1}, as many as shares")
    counts = np.cumsum(groups[:, None] == np.arange(len(owed)), axis=0)
    prefixes = counts / np.arange(1, len(groups) + 1)[:, None]
    weights = discounts(len(groups))
    due = owed / owed.sum()
    return float(sum(w * _divergence(row, due) for w, row in zip(weights, prefixes, strict=True)) / weights.sum())


def _divergence(p: Floats, q: Floats) -> float:
    """KL(p || q) in nats; q is positive where p is."""
    there = p > 0.0
    return float((p[there] * np.log(p[there] / q[there])).sum())
