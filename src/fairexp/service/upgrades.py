"""States that earlier versions of fairexp wrote, in the form of this one: what migrations are for tables.

Forward only, like those: each step fills in what a ranker has come to keep since, from what it kept then.
"""

from __future__ import annotations

import numpy as np

from fairexp.arrays import State
from fairexp.kernels.logistic import loss_and_pull


def upgraded(state: State) -> State:
    """A ranker's `state()` as this version restores it; one of this version comes back as it is."""
    for prefix in ("model.", "host.model."):
        if f"{prefix}n_unfactored" in state:
            state = _with_gradient(state, prefix)
    return state


def _with_gradient(state: State, prefix: str) -> State:
    """PairRank's model keeps its gradient and loss since 2026-11; both follow from its rows."""
    own = {key.removeprefix(prefix): value for key, value in state.items() if key.startswith(prefix)}
    names = ("curvature", "theta", "offset", "rows", "margins")
    curvature, theta, offset, rows, margins = (np.array(own[name], dtype=np.float64) for name in names)
    loss, pull = loss_and_pull(margins)
    n_pending = min(int(own["n_unfactored"]), len(rows))
    fresh: State = {
        "gradient": curvature @ theta - offset - pull @ rows,
        "loss": np.array(loss),
        "n_pending": np.array(n_pending, dtype=np.int64),
    }
    return {**state, **{prefix + key: value for key, value in fresh.items()}}
