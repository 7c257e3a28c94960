"""Labels at the ends of lines, moved apart so that none covers another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Axis:
    """A vertical axis from `low` to `high`; with `constant`, symmetric-log: linear near 0, logarithmic far above.

    >>> axis = Axis(0.0, 100.0, constant=0.1)
    >>> axis.value(axis.position(10.0))
    10.0
    """

    low: float
    high: float
    constant: float | None = None

    def position(self, value: float) -> float:
        """Where `value` lies, from 0 (bottom) to 1 (top)."""
        bottom, top = self._warp(self.low), self._warp(self.high)
        return (self._warp(value) - bottom) / (top - bottom)

    def value(self, position: float) -> float:
        """What lies at `position`."""
        bottom, top = self._warp(self.low), self._warp(self.high)
        warped = bottom + position * (top - bottom)
        if self.constant is None:
            return warped
        return round(math.copysign(math.expm1(abs(warped)) * self.constant, warped), 12)

    def _warp(self, value: float) -> float:
        if self.constant is None:
            return value
        return math.copysign(math.log1p(abs(value) / self.constant), value)


def spread(positions: Sequence[float], *, gap: float) -> list[float]:
    """`positions` in [0, 1] moved as little as needed (in squares) for neighbours to be at least `gap` apart.

    Where they do not all fit into [0, 1], they keep the gap and run over at the ends.

    >>> [round(x, 3) for x in spread([0.5, 0.52, 0.9], gap=0.1)]
    [0.46, 0.56, 0.9]
    """
    order = sorted(range(len(positions)), key=lambda i: positions[i])
    # With the gaps taken out, the order must only not decrease: pool adjacent violators, as isotonic regression does.
    pools: list[tuple[float, int]] = []
    for rank, index in enumerate(order):
        mean, size = positions[index] - rank * gap, 1
        while pools and pools[-1][0] > mean:
            other, count = pools.pop()
            mean, size = (mean * size + other * count) / (size + count), size + count
        pools.append((mean, size))
    highest = max(1.0 - (len(order) - 1) * gap, 0.0)
    placed = [min(max(mean, 0.0), highest) for mean, size in pools for _ in range(size)]
    moved = [0.0] * len(order)
    for rank, index in enumerate(order):
        moved[index] = placed[rank] + rank * gap
    return moved
