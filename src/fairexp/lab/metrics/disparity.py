"""Disparity: what groups get out of rankings in proportion to their merit, and their share of the top."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from fairexp.arrays import Floats, Ints
from fairexp.errors import ArgumentError
from fairexp.fairness.ledger import amounts_by_group
from fairexp.validation import as_groups, check_count


def exposure_per_merit(exposure: ArrayLike, merit: ArrayLike, groups: ArrayLike, *, n_groups: int = 2) -> Floats:
    """Disparate treatment ratio (G, G): [g, h] = (Exp_g / U_g) / (Exp_h / U_h), 1 where both are treated alike.

    `exposure` (n,) is what each document got (0 if not shown), `merit` (n,) its relevance or utility, `groups` (n,) its
    group; documents of many rankings may be joined. NaN against a group without merit; infinite where h has merit but
    got nothing and g got something. Singh and Joachims, KDD 2018.

    >>> v = 1 / np.log2([2, 3, 4, 5])
    >>> exposure_per_merit(v, [0.8, 0.7, 0.6, 0.5], [0, 1, 0, 1])[0, 1].round(4).item()
    1.2111
    """
    given, merits, members = _aligned(exposure, merit, groups, n_groups)
    return _ratios(given, merits, members, n_groups)


def impact_per_merit(exposure: ArrayLike, merit: ArrayLike, groups: ArrayLike, *, n_groups: int = 2) -> Floats:
    """Disparate impact ratio (G, G): as `exposure_per_merit`, with the expected clicks exposure * merit for exposure.

    Singh and Joachims, KDD 2018.

    >>> v = 1 / np.log2([2, 3, 4, 5])
    >>> impact_per_merit(v, [0.8, 0.7, 0.6, 0.5], [0, 1, 0, 1])[0, 1].round(4).item()
    1.4351
    """
    given, merits, members = _aligned(exposure, merit, groups, n_groups)
    return _ratios(given * merits, merits, members, n_groups)


def largest_ratio(ratios: ArrayLike) -> float | None:
    """The largest of the ratios (G, G) of `exposure_per_merit` or `impact_per_merit`: 1 where all groups fare alike.

    Infinite where a group with merit got nothing; None where fewer than two groups have any.

    >>> largest_ratio([[1.0, 0.5], [2.0, 1.0]])
    2.0
    """
    given = np.asarray(ratios, dtype=np.float64)
    pairs = given[~np.eye(len(given), dtype=np.bool_) & ~np.isnan(given)]
    return float(pairs.max()) if pairs.size else None


def top_k_shares(template: ArrayLike, n_groups: int, *, k: int | None = None) -> Floats:
    """The share (G,) of each group in the first k positions (all, where k is None) of a `template` (m,).

    Zeros where the template is empty.

    >>> top_k_shares([0, 1, 0, 0], 2).tolist()
    [0.75, 0.25]
    """
    given = np.asarray(template)
    members = as_groups(given, n=given.size, name="template")
    _check_range(members, n_groups, name="template")
    top = members if k is None else members[: check_count("k", k)]
    return np.bincount(top, minlength=n_groups) / max(1, len(top))


def _ratios(amount: Floats, merit: Floats, groups: Ints, n_groups: int) -> Floats:
    received = amounts_by_group(groups, amount, n_groups)
    deserved = amounts_by_group(groups, merit, n_groups)
    per_merit = np.full(n_groups, np.nan)
    np.divide(received, deserved, out=per_merit, where=deserved > 0)
    with np.errstate(divide="ignore", invalid="ignore"):  # infinite and undefined ratios are part of the answer
        return np.asarray(per_merit[:, np.newaxis] / per_merit)


def _aligned(exposure: ArrayLike, merit: ArrayLike, groups: ArrayLike, n_groups: int) -> tuple[Floats, Floats, Ints]:
    amount = as_amounts("exposure", exposure)
    deserved = as_amounts("merit", merit)
    if amount.shape != deserved.shape:
        raise ArgumentError("merit", f"shape {deserved.shape}", f"shape {amount.shape}, one per document")
    members = as_groups(groups, n=len(amount))
    _check_range(members, n_groups, name="groups")
    return amount, deserved, members


def as_amounts(name: str, values: ArrayLike) -> Floats:
    """`values` as float64 (n,), finite and not negative, or an `ArgumentError` that names `name`."""
    given = np.asarray(values)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iufb"):
        raise ArgumentError(name, f"shape {given.shape} and dtype {given.dtype}", "one number per document (n,)")
    numbers = given.astype(np.float64)
    if not (np.isfinite(numbers) & (numbers >= 0)).all():
        raise ArgumentError(name, "a negative or non-finite value", "finite numbers of at least 0")
    return numbers


def _check_range(groups: Ints, n_groups: int, *, name: str) -> None:
    if groups.max(initial=0) >= check_count("n_groups", n_groups):
        raise ArgumentError(name, f"group {groups.max()}", f"groups 0 to {n_groups - 1}", "Give the right n_groups.")
