"""The linear program of optimised interleaving: how likely to show each of some lists."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from fairexp.arrays import Floats
from fairexp.errors import MissingExtraError

SLACK = 1e-9
"""What the solver's rounding may add to a difference."""


def chances_of_lists(worth: Floats) -> tuple[Floats, float]:
    """The chance (l,) of each list, and the largest difference that is left, given the `worth` (l, m, r) of clicks.

    Two programs, one after the other. The first finds the least differences, one for each depth, between the expected
    credit of any ranker and the mean of all, for clicks on everything down to that depth: all 0 where the rankers can
    be treated alike. The second, within those, prefers lists on which clicks at random, 1/rank of them at each
    position, tell the rankers apart least: what then tells them apart is relevance.
    """
    n_lists, m, _ = worth.shape
    if n_lists == 1 or m == 0:
        return np.ones(n_lists) / n_lists, float(np.abs(_differences(worth)).max(initial=0.0))
    ahead = _differences(worth).transpose(1, 2, 0)  # (m, r, l)
    depth = np.repeat(np.eye(m), ahead.shape[1], axis=0)
    rows = ahead.reshape(-1, n_lists)
    bounds = np.block([[rows, -depth], [-rows, -depth]])
    first = _solved(np.r_[np.zeros(n_lists), np.ones(m)], bounds, np.zeros(len(bounds)), n_lists)
    chances, least = first[:n_lists], first[n_lists:]
    spread = ((worth / np.arange(1.0, m + 1.0)[:, None]).sum(axis=1)).var(axis=1)
    allowed = depth @ least + SLACK
    second = _solved(spread, np.vstack([rows, -rows]), np.r_[allowed, allowed], n_lists, start=chances)
    return second / second.sum(), float(np.abs(rows @ second).max())


def _differences(worth: Floats) -> Floats:
    """(l, m, r): by how much the credit for clicks down to each depth exceeds the mean of the rankers."""
    credit = np.cumsum(worth, axis=1)
    return np.asarray(credit - credit.mean(axis=2, keepdims=True))


def _solved(cost: Floats, rows: Floats, limits: Floats, n_lists: int, start: Floats | None = None) -> Floats:
    """The solution (v,) of least `cost`, not negative, with chances that add up to 1 and `rows` below `limits`.

    `start` is what to fall back on where rounding leaves the solver nothing.
    """
    whole = np.zeros((1, len(cost)))
    whole[0, :n_lists] = 1.0
    found = _linprog()(cost, A_ub=rows, b_ub=limits, A_eq=whole, b_eq=[1.0], bounds=(0.0, None), method="highs")
    if found.x is None and start is not None:
        return start
    return np.asarray(np.clip(found.x, 0.0, None), dtype=np.float64)


def _linprog() -> Any:
    try:
        return import_module("scipy.optimize").linprog
    except ImportError as error:
        raise MissingExtraError(
            "optimised interleaving: the package 'scipy' is not installed; run: pip install 'fairexp[lp]'"
        ) from error
