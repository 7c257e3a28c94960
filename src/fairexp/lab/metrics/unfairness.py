"""Unfairness: by how much the exposure of one group exceeds its due, measured against another group."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from fairexp.arrays import Floats
from fairexp.errors import ArgumentError
from fairexp.fairness.ledger import amounts_by_group, pair_gaps
from fairexp.validation import as_groups, as_shares, check_count


def exposure_by_group(template: ArrayLike, exposure: ArrayLike, *, n_groups: int) -> Floats:
    """The exposure (G,) that a ranking gives each group: `template` (m,) names the group at each position.

    `exposure` is by position and may be longer than the ranking.

    >>> exposure_by_group([0, 1, 0], [1.0, 0.5, 0.25], n_groups=2).tolist()
    [1.25, 0.5]
    """
    curve = _as_exposure(exposure, name="exposure", n_axes=1)
    given = np.asarray(template)
    groups = as_groups(given, n=given.size, name="template")
    if len(curve) < len(groups):
        raise ArgumentError("exposure", f"{len(curve)} positions", f"at least {len(groups)}, one per shown document")
    if groups.max(initial=0) >= check_count("n_groups", n_groups):
        raise ArgumentError("template", f"group {groups.max()}", f"groups 0 to {n_groups - 1}")
    return amounts_by_group(groups, curve[: len(groups)], n_groups)


def pair_unfairness(exposure: ArrayLike, shares: ArrayLike) -> Floats:
    """Unfairness (..., G, G) of every pair of groups: [g, h] = E_g - (w_g / w_h) E_h.

    `exposure` (..., G) is the exposure so far by group, `shares` (G,) the weight w of each group; with two groups,
    [0, 1] is the paper's signed unfairness with beta = w_0 / w_1. Positive: g had more than its due against h.

    >>> pair_unfairness([3.0, 1.0], [2.0, 1.0]).tolist()
    [[0.0, 1.0], [-0.5, 0.0]]
    """
    spent = _as_exposure(exposure, name="exposure")
    weights = as_shares(shares)
    if spent.shape[-1] != len(weights):
        raise ArgumentError("exposure", f"{spent.shape[-1]} groups", f"{len(weights)} groups, as many as shares")
    return pair_gaps(spent, weights)


def unfairness_trace(exposure: ArrayLike, shares: ArrayLike) -> Floats:
    """Unfairness (T, G, G) of every pair after each round, from the exposure (T, G) that each round gave.

    >>> unfairness_trace([[1.0, 0.5], [0.5, 1.0]], [1.0, 1.0])[:, 0, 1].tolist()
    [0.5, 0.0]
    """
    rounds = _as_exposure(exposure, name="exposure", n_axes=2)
    return pair_unfairness(np.cumsum(rounds, axis=0), shares)


def _as_exposure(exposure: ArrayLike, *, name: str, n_axes: int | None = None) -> Floats:
    given = np.asarray(exposure)
    wrong_axes = given.ndim != n_axes if n_axes is not None else given.ndim == 0
    if wrong_axes or given.dtype.kind not in "iuf":
        raise ArgumentError(name, f"shape {given.shape} and dtype {given.dtype}", "an array of exposures")
    values = given.astype(np.float64)
    if not np.isfinite(values).all():
        raise ArgumentError(name, "NaN or infinity", "finite exposures")
    return values
