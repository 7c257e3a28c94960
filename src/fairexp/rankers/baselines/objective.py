"""Concave objectives of how exposure is shared out, by their gradients: what Frank-Wolfe rankings climb."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fairexp.arrays import Floats
from fairexp.kernels.baselines.objectives import deviation, softmin, welfare

Gradient = Callable[[Floats, Floats, float], Floats]

OBJECTIVES: Mapping[str, Gradient] = {"deviation": deviation, "softmin": softmin, "welfare": welfare}


def gradient(name: str, received: Floats, merit: Floats, smoothing: float) -> Floats:
    """The gradient (m,) of objective `name` by the units' shares of exposure, at what they have `received` so far.

    >>> import numpy as np
    >>> gradient("deviation", np.array([3.0, 1.0]), np.array([1.0, 1.0]), 0.0)
    array([-1.,  1.])
    """
    return OBJECTIVES[name](received, merit, smoothing)
