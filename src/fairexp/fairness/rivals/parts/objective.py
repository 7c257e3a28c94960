"""Concave objectives of how exposure is shared out, by their gradients: what Frank-Wolfe rankings climb."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from fairexp.arrays import Floats

Gradient = Callable[[Floats, Floats, float], Floats]


def deviation(per_due: Floats, due: Floats, smoothing: float) -> Floats:
    """Of minus the root of `smoothing` plus the mean squared deviation of what units have per what is due."""
    apart = per_due - per_due.mean()
    return np.asarray(-apart / (len(due) * due) / np.sqrt(smoothing + (apart @ apart) / len(due)))


def softmin(per_due: Floats, due: Floats, smoothing: float) -> Floats:
    """Of a smooth minimum of what units have per what is due, at the scale `smoothing`."""
    weights = np.exp((per_due.min() - per_due) / smoothing)
    return np.asarray(weights / weights.sum() / due)


def welfare(per_due: Floats, due: Floats, smoothing: float) -> Floats:
    """Of the sum of due * log(`smoothing` + what a unit has per what is due)."""
    return np.asarray(1.0 / (smoothing + per_due))


OBJECTIVES: Mapping[str, Gradient] = {"deviation": deviation, "softmin": softmin, "welfare": welfare}


def gradient(name: str, received: Floats, merit: Floats, smoothing: float) -> Floats:
    """The gradient (m,) of objective `name` by the units' shares of exposure, at what they have `received` so far.

    >>> gradient("deviation", np.array([3.0, 1.0]), np.array([1.0, 1.0]), 0.0)
    array([-1.,  1.])
    """
    due = merit / merit.sum()
    total = received.sum()
    shares = received / total if total > 0.0 else np.zeros(len(due))
    return OBJECTIVES[name](shares / due, due, smoothing)
