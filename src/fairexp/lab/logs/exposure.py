"""Exposure by position from documents that past rankings have shown at several positions for the same query.

A click on document x at position p has the rate r(x) e(p): how relevant x is to its query, times how exposed p is.
Given how often x was clicked at all, where the clicks fell depends on e and on how often x was shown where, but not on
r(x). The curve that makes the clicks of all documents most likely is therefore free of what the rankings had put on
top. This is intervention harvesting (Agarwal, Zaitsev, Wang, Li, Najork and Joachims, WSDM 2019) with a rate of its own
for each document of a query, in place of one for each pair of positions.
"""

from __future__ import annotations

import numpy as np

from fairexp.arrays import Floats
from fairexp.errors import ArgumentError
from fairexp.fairness.exposure import ExposureEstimate
from fairexp.lab.logs.record import Log

MAX_STEPS = 100
WORTH = "Give a curve instead, or measure one on rankings that are randomised (`fairexp exposure`)."


def harvested_exposure(log: Log, *, length: int) -> ExposureEstimate:
    """The curve (length,) relative to position 1, with standard errors."""
    shown, clicked = _counts(log, length)
    _check_linked(shown, clicked)
    totals, logs = clicked.sum(axis=1), np.zeros(length)
    value = -np.inf
    for _ in range(MAX_STEPS):
        likelihood, gradient, information = _likelihood(shown, clicked, totals, logs)
        step = np.zeros(length)
        step[1:] = np.linalg.solve(information, gradient)
        while True:
            to, _, _ = _likelihood(shown, clicked, totals, logs + step)
            if to >= likelihood or np.abs(step).max() < 1e-9:
                break
            step /= 2.0
        logs = logs + step
        if to - value <= 1e-10 * (1.0 + abs(to)):
            break
        value = to
    curve = np.exp(logs)
    _, _, information = _likelihood(shown, clicked, totals, logs)
    error = np.zeros(length)
    error[1:] = curve[1:] * np.sqrt(np.diag(np.linalg.inv(information)))
    return ExposureEstimate(curve, error, log.n_rankings)


def _counts(log: Log, length: int) -> tuple[Floats, Floats]:
    """How often each document of each query was shown and clicked at each position, (items, length) twice.

    Only documents that were clicked and were shown at more than one position say anything.
    """
    if log.clicks is None or log.queries is None or log.documents is None:
        raise ArgumentError(
            "exposure", "harvest", "clicks, and ids of queries and documents by which they are known again", WORTH
        )
    positions = log.positions - 1
    rows = positions < length
    queries = np.repeat(log.queries, np.diff(log.offsets))[rows]
    pairs = np.stack([queries, log.documents[rows]], axis=1)
    _, items = np.unique(pairs, axis=0, return_inverse=True)
    n = int(items.max(initial=-1)) + 1
    cells = items.ravel() * length + positions[rows]
    shown = np.bincount(cells, minlength=n * length).reshape(n, length).astype(np.float64)
    clicked = np.bincount(cells, weights=log.clicks[rows], minlength=n * length).reshape(n, length)
    telling = ((shown > 0).sum(axis=1) > 1) & (clicked.sum(axis=1) > 0)
    return shown[telling], clicked[telling]


def _check_linked(shown: Floats, clicked: Floats) -> None:
    """Refuse positions that no chain of documents links to position 1, or that were never clicked."""
    linked = np.zeros(shown.shape[1], dtype=np.bool_)
    linked[0] = True
    for _ in range(len(linked)):
        linked |= (shown[(shown[:, linked] > 0).any(axis=1)] > 0).any(axis=0)
    usable = linked & (clicked.sum(axis=0) > 0)
    if not usable.all():
        lost = ", ".join(str(position + 1) for position in np.flatnonzero(~usable))
        raise ArgumentError(
            "exposure",
            f"{len(shown):,} clicked documents at several positions, none of which tells of position {lost}",
            "for every position clicks on documents that also stood elsewhere for the same query",
            WORTH,
        )


def _likelihood(shown: Floats, clicked: Floats, totals: Floats, logs: Floats) -> tuple[float, Floats, Floats]:
    """Log-likelihood, gradient (k - 1,) and information (k - 1, k - 1) by the logarithms of all but the first."""
    parts = shown * np.exp(logs)
    sums = parts.sum(axis=1)
    parts /= sums[:, None]
    likelihood = float(clicked.sum(axis=0) @ logs - totals @ np.log(sums))
    expected = totals @ parts
    information = np.diag(expected) - (parts * totals[:, None]).T @ parts
    return likelihood, (clicked.sum(axis=0) - expected)[1:], information[1:, 1:]
