"""What past rankings teach: a prior with its standard errors, and the exposure that was taken to be."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from fairexp.arrays import Floats
from fairexp.errors import ArgumentError
from fairexp.fairness.exposure import ExposureEstimate
from fairexp.lab.logs.preferences import Progress, fit_preferences, ordered_rightly, winners
from fairexp.lab.logs.record import Log
from fairexp.prior import UNITS, Prior

REGULARIZATION = 1.0
RANGE = float(np.sqrt(12.0))
"""The range of uniform numbers over their standard deviation."""

HELD_OUT = 10
"""Every so many-th query is held out from a first fit, to see how well what is learned carries over."""


@dataclass(frozen=True, slots=True, eq=False)
class Learned:
    """Weights by feature as a `prior` in the units of the log's features, and how sure they are.

    `standard_error` (d,) is that of the weights; `range` (d,) is how far a feature typically reaches inside a ranking.
    `exposure` is the curve that clicks were corrected by, None where documents were graded. `ordered` is the share of
    the preferences of held-out queries that weights from the others order rightly, with its standard error.
    """

    prior: Prior
    standard_error: Floats
    range: Floats
    exposure: ExposureEstimate | None
    n_rankings: int
    n_preferences: int
    ordered: tuple[float, float]

    @property
    def names(self) -> tuple[str, ...]:
        """What the features are called."""
        assert self.prior.feature_names is not None
        return self.prior.feature_names

    def save(self, path: Path) -> None:
        """Write a JSON file that `PairRank(prior=...)` and `prior: {file: ...}` of a policy read."""
        record = {
            "features": list(self.names),
            "scaling": self.prior.scaling,
            "units": UNITS[str(self.prior.scaling)],
            "weights": self.prior.weights.tolist(),
            "standard_error": self.standard_error.tolist(),
            "spread": self.prior.spread.tolist(),
            "strength": self.prior.strength,
            "exposure": None if self.exposure is None else self.exposure.curve.tolist(),
            "n_rankings": self.n_rankings,
            "n_preferences": self.n_preferences,
        }
        path.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def learn(
    log: Log,
    exposure: ExposureEstimate | None,
    *,
    strength: float | None = None,
    regularization: float = REGULARIZATION,
    on_progress: Progress | None = None,
) -> Learned:
    """Learn weights from a log; `exposure` must be given where it holds clicks.

    The prior is worth `strength` observed pairs, by default as many as would leave errors of the same size: few clicks
    that count much tell less than many that count alike, and a document that beats nine others more than one that beats
    another.
    """
    counts = _counts(log, exposure)
    scaled, reach = _of_one_size(log)
    telling = np.logical_or.reduceat(counts > 0.0, log.offsets[:-1])
    scaled, counts = scaled.chosen(telling), counts[np.repeat(telling, np.diff(log.offsets))]
    held_out = _held_out(scaled)
    fit = fit_preferences(scaled, counts, regularization=regularization, on_progress=on_progress)
    rows = np.repeat(held_out, np.diff(scaled.offsets))
    part = fit_preferences(scaled.chosen(~held_out), counts[~rows], regularization=regularization)
    return Learned(
        prior=Prior(
            fit.theta / reach,
            strength=fit.worth if strength is None else strength,
            spread=np.maximum(np.diag(fit.products), 0.0) * np.square(reach),
            feature_names=log.names,
            scaling=log.scaling,
        ),
        standard_error=np.sqrt(np.diag(fit.covariance)) / reach,
        range=reach,
        exposure=exposure,
        n_rankings=log.n_rankings,
        n_preferences=int(np.count_nonzero(counts)),
        ordered=ordered_rightly(scaled.chosen(held_out), counts[rows], part.theta),
    )


def _counts(log: Log, exposure: ExposureEstimate | None) -> Floats:
    lowest = int(log.positions.max(initial=0))
    if log.grades is None and exposure is not None and len(exposure.curve) < lowest:
        given = f"{len(exposure.curve)} positions"
        raise ArgumentError("exposure", given, f"at least {lowest}, the lowest position that was shown")
    counts = winners(log, None if exposure is None else exposure.curve)
    sizes = np.diff(log.offsets)
    counts = np.where(np.repeat(sizes > 1, sizes), counts, 0.0)
    if not counts.any():
        given = f"{log.n_rankings:,} rankings without a single click on one of several documents"
        raise ArgumentError("log", given, "some clicks, or grades above 0")
    return counts


def _of_one_size(log: Log) -> tuple[Log, Floats]:
    """The log with features around their mean in each ranking, over how far each (d,) typically reaches inside one.

    A feature that never varies is 0, and its reach 1.
    """
    sizes = np.diff(log.offsets)
    means = np.add.reduceat(log.features, log.offsets[:-1], axis=0) / sizes[:, None]
    centred = log.features - np.repeat(means, sizes, axis=0)
    reach = RANGE * np.sqrt(np.square(centred).sum(axis=0) / max(int((sizes - 1).sum()), 1))
    varies = reach > 1e-12 * np.abs(means).max(axis=0, initial=0.0)
    reach = np.where(varies, reach, 1.0)
    return replace(log, features=np.where(varies, centred / reach, 0.0)), reach


def _held_out(log: Log) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which rankings (R,) are held out: all of every tenth query."""
    known = np.arange(log.n_rankings) if log.queries is None else np.unique(log.queries, return_inverse=True)[1].ravel()
    return np.asarray(known % HELD_OUT == HELD_OUT - 1)
