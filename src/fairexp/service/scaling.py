"""Features brought to one size: by what the policy says of them, and by what has been seen of the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairexp.arrays import Bools, Floats, Ints, State
from fairexp.kernels.data.scaling import scale_queries
from fairexp.rankers.matching import NEW, Matching
from fairexp.service.policy import PolicySpec

RANGE = float(np.sqrt(12.0))
"""The range of uniform numbers over their standard deviation: what is typical of a feature comes to a range of about 1,
for which the rankers' defaults are made."""

DRIFT = 2.0
"""The scale in force is replaced when a feature's own differs from it by more than this factor."""

ENOUGH = 20
"""So many deviations must have been seen for that."""


class DeclaredScale:
    """What a policy says itself: shift and scale by feature, or each query's range. float32 (n, d) in and out.

    So either form of a request ranks the same.
    """

    def __init__(self, spec: PolicySpec) -> None:
        self.shift = np.array([column.shift or 0.0 for column in spec.columns])
        self.scale = np.array([column.scale or 1.0 for column in spec.columns])
        self.by_query = spec.scaling == "query"
        self._changes = bool(self.shift.any() or (self.scale != 1.0).any())

    def __call__(self, features: NDArray[np.float32]) -> NDArray[np.float32]:
        scaled = features
        if self._changes:
            with np.errstate(over="ignore"):  # what overflows is refused with all infinities
                exact: Floats = (features.astype(np.float64) - self.shift) / self.scale
                scaled = exact.astype(np.float32)
        if self.by_query:
            scaled = np.array(scaled, order="C")
            scale_queries(scaled, np.array([0, len(scaled)]))
        return scaled


class RunningScale:
    """What has been seen of each feature in shown rankings, and the shift and scale (d,) that are in force.

    A ranker sees (value - shift) / scale. The spread of a feature is its typical deviation from the mean of the
    ranking it is shown in, because rankings are about differences inside them. A feature's scale is first taken from
    the candidates of a request in which it varies, and replaced only when its spread has moved away from it: rarely,
    because what was learned must then be put into other units. `adjusted` features are those left to us.

    >>> scale = RunningScale(2, adjusted=np.array([True, False]), centred=True)
    >>> scale.use(*scale.proposal(np.array([[0.0, 5.0], [3.0, 7.0]], dtype=np.float32)))
    array([0.13608276, 1.        ])
    >>> scale(np.array([[0.0, 5.0], [3.0, 7.0]], dtype=np.float32)).round(3)
    array([[-0.204,  5.   ],
           [ 0.204,  7.   ]])
    """

    def __init__(self, n_features: int, *, adjusted: Bools, centred: bool) -> None:
        self.adjusted = adjusted
        self._centred = centred
        self.known: Bools = np.zeros(n_features, dtype=np.bool_)
        self.shift: Floats = np.zeros(n_features)
        self.scale: Floats = np.ones(n_features)
        self.n_seen: Ints = np.zeros(n_features, dtype=np.int64)
        self._n_free: Ints = np.zeros(n_features, dtype=np.int64)
        self.mean: Floats = np.zeros(n_features)
        self._squares: Floats = np.zeros(n_features)

    @staticmethod
    def of(spec: PolicySpec, *, rescaling: str) -> RunningScale:
        """For the features whose scale the policy leaves open, as far as its ranker allows."""
        left_open = spec.scaling == "running" and rescaling != "none"
        adjusted = [left_open and column.shift is None and column.scale is None for column in spec.columns]
        return RunningScale(spec.n_features, adjusted=np.array(adjusted), centred=rescaling == "affine")

    @property
    def spread(self) -> Floats:
        """The typical deviation (d,) of each feature inside a ranking; 0 where it never varied."""
        return np.sqrt(self._squares / np.maximum(self._n_free, 1))

    def __call__(self, features: NDArray[np.float32]) -> Floats:
        """What the ranker sees of `features` (n, d)."""
        return np.asarray((features.astype(np.float64) - self.shift) / self.scale)

    def proposal(self, candidates: NDArray[np.float32]) -> tuple[Floats, Floats] | None:
        """The shift and scale (d,) to use from this ranking of `candidates` (n, d) on; None for those in force."""
        if not self.adjusted.any():
            return None
        shift, scale = self.shift.copy(), self.scale.copy()
        first = self.adjusted & ~self.known
        if first.any():
            where = np.flatnonzero(first)
            where = where[varies(candidates[:, where])]
            values = candidates[:, where].astype(np.float64)
            scale[where] = RANGE * values.std(axis=0, ddof=1) if len(where) else 1.0
            shift[where] = values.mean(axis=0)
        spread = RANGE * self.spread
        enough = self.adjusted & self.known & (self._n_free >= ENOUGH) & (spread > 0.0)
        if ((spread > DRIFT * scale) | (DRIFT * spread < scale))[enough].any():
            scale[enough], shift[enough] = spread[enough], self.mean[enough]
        if not self._centred:
            shift[:] = 0.0
        return None if np.array_equal(scale, self.scale) and np.array_equal(shift, self.shift) else (shift, scale)

    def use(self, shift: Floats, scale: Floats) -> Floats:
        """Go on with these; the factors (d,) that values as ranked before are multiplied by."""
        factors = self.scale / scale
        self.known = self.known | (self.adjusted & (scale != self.scale))
        self.shift, self.scale = np.array(shift), np.array(scale)
        return np.asarray(factors)

    def observe(self, shown: NDArray[np.float32]) -> None:
        """Take note of the features (m, d) that were shown in one ranking."""
        if not self.adjusted.any():
            return
        values = shown.astype(np.float64)
        centre = values.mean(axis=0)
        self.n_seen = self.n_seen + len(values)
        self.mean = self.mean + (centre - self.mean) * (len(values) / self.n_seen)
        self._squares = self._squares + np.square(values - centre).sum(axis=0) * varies(shown)
        self._n_free = self._n_free + (len(values) - 1)

    def take_over(self, before: RunningScale, matching: Matching, offset: Floats) -> None:
        """Go on with what was seen of the features that stay; `matching` and `offset` (d,) lead to their new values."""
        stay = np.flatnonzero(matching.features != NEW)
        old, factor = matching.features[stay], matching.factors[stay]
        self.n_seen[stay], self._n_free[stay] = before.n_seen[old], before._n_free[old]
        self.mean[stay] = before.mean[old] * factor + offset[stay]
        self._squares[stay] = before._squares[old] * np.square(factor)
        adjusted = self.adjusted[stay] & before.known[old]
        stay, old, factor = stay[adjusted], old[adjusted], factor[adjusted]
        self.known[stay] = True
        self.scale[stay] = before.scale[old] * factor
        if self._centred:
            self.shift[stay] = before.shift[old] * factor + offset[stay]

    def report(self, names: list[str]) -> list[dict[str, Any]]:
        """What was seen of each feature, and what is done about it."""
        return [
            {
                "feature": name,
                "seen": int(self.n_seen[number]),
                "mean": float(self.mean[number]),
                "spread": float(self.spread[number]),
                "shift": float(self.shift[number]),
                "scale": float(self.scale[number]),
            }
            for number, name in enumerate(names)
        ]

    def state(self) -> State:
        """Everything, as arrays."""
        return {
            "known": self.known.copy(),
            "shift": self.shift.copy(),
            "scale": self.scale.copy(),
            "n_seen": self.n_seen.copy(),
            "n_free": self._n_free.copy(),
            "mean": self.mean.copy(),
            "squares": self._squares.copy(),
        }

    def restore(self, arrays: State) -> None:
        """Continue from the arrays of `state`."""
        self.known = np.array(arrays["known"], dtype=np.bool_)
        self.n_seen = np.array(arrays["n_seen"], dtype=np.int64)
        self._n_free = np.array(arrays["n_free"], dtype=np.int64)
        self.shift, self.scale, self.mean, self._squares = (
            np.array(arrays[name], dtype=np.float64) for name in ("shift", "scale", "mean", "squares")
        )


def varies(features: NDArray[np.float32]) -> Bools:
    """Which features (d,) differ between rows (n, d) at all; a mean may differ from equal numbers by rounding."""
    return np.asarray(features.max(axis=0) != features.min(axis=0))
