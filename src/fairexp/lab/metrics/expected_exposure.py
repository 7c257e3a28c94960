"""Expected exposure: how far the attention that documents get is from what equally relevant ones are owed alike."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fairexp.arrays import Floats
from fairexp.errors import ArgumentError
from fairexp.lab.metrics.grades import as_grades


class ExpectedExposure(NamedTuple):
    """EE-L = EE-D - EE-R + ||target||^2: `loss`, `disparity` and `relevance`."""

    loss: float
    disparity: float
    relevance: float


def target_exposure(relevance: ArrayLike, exposure: ArrayLike) -> Floats:
    """What each document (n,) is owed: better grades stand above worse ones, and documents of one grade share theirs.

    `relevance` (n,) are the grades of all candidates, `exposure` is by position; positions beyond it are not seen. Each
    document is owed the mean over the positions that its grade takes in an ideal ranking. Diaz et al., CIKM 2020.

    >>> target_exposure([0, 1, 1], [1.0, 0.5, 0.25]).tolist()
    [0.25, 0.75, 0.75]
    """
    grades, curve = as_grades(relevance), np.asarray(exposure, dtype=np.float64)
    seen = np.zeros(len(grades))
    seen[: len(curve)] = curve[: len(grades)]
    _, ranks, sizes = np.unique(-grades, return_inverse=True, return_counts=True)
    totals = np.add.reduceat(seen, np.concatenate([[0], np.cumsum(sizes)[:-1]])) if len(grades) else np.zeros(0)
    return np.asarray((totals / sizes)[ranks.reshape(-1)])


def expected_exposure(given: ArrayLike, target: ArrayLike) -> ExpectedExposure:
    """EE-L = ||e - e*||^2, EE-D = ||e||^2 and EE-R = 2 e.e* of one query.

    `given` (n,) is the exposure e that a stochastic ranker gives each candidate in expectation, or has given on average
    over many rankings, and `target` (n,) what it owes them (`target_exposure`). From one ranking alone EE-D cannot
    tell chance from preference: it is then the same for every order. Diaz et al., CIKM 2020.

    >>> expected_exposure([1.0, 0.5, 0.0], [0.75, 0.75, 0.0])
    ExpectedExposure(loss=0.125, disparity=1.25, relevance=2.25)
    """
    e, owed = np.asarray(given, dtype=np.float64), np.asarray(target, dtype=np.float64)
    if e.ndim != 1 or e.shape != owed.shape:
        raise ArgumentError("target", f"shape {owed.shape}", f"shape {e.shape}, one number per candidate (n,)")
    return ExpectedExposure(float(np.square(e - owed).sum()), float(e @ e), float(2.0 * (e @ owed)))
