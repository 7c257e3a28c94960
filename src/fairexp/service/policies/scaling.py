"""Features brought to one size: by what the policy says of them, and by what has been seen of the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairexp.arrays import Bools, Floats, Ints, State
from fairexp.kernels.data.scaling import scale_queries
from fairexp.remap import NEW, Remap
from fairexp.service.policies.spec import PolicySpec

RANGE = float(np.sqrt(12.0))
"""The range of uniform numbers over their standard deviation: what is typical of a feature comes to a range of about 1,
for which the rankers' defaults are made."""

DRIFT = 2.0
"""The scale in force is replaced when a feature's own differs from it by more than this factor."""

ENOUGH = 20
"""So many deviations must have been seen for that."""

WINDOW = 5000
"""What was seen counts as this many deviations at most, so that the latest are always worth something."""

MOST_SEEN = 2.0
"""Deviations count as at most so many ranges: a few that are wrong, or stand for "missing", do not set the scale."""

MOST_SHOWN = 10.0
"""Rankers see no value further from the centre than so many ranges: one that is wrong must not drown all others."""


class DeclaredScale:
    """What a policy says itself: shift and scale by feature, or each query's range.

    float32 (n, sent) in and (n, d) out, so either form of a request ranks the same. Where the ranker sees the order of
    candidates, that is the last column: minus the logarithm of the position.
    """

    def __init__(self, spec: PolicySpec) -> None:
        self.shift = np.array([column.shift or 0.0 for column in spec.columns])
        self.scale = np.array([column.scale or 1.0 for column in spec.columns])
        self.by_query = spec.scaling == "query"
        self._n_declared, self._sees_order = spec.n_declared, spec.sees_order
        self._changes = bool(self.shift.any() or (self.scale != 1.0).any())

    def __call__(self, features: NDArray[np.float32]) -> NDArray[np.float32]:
        scaled = features
        if self._changes:
            with np.errstate(over="ignore"):  # what overflows is refused with all infinities
                shift, scale = self.shift[: self._n_declared], self.scale[: self._n_declared]
                exact: Floats = (features.astype(np.float64) - shift) / scale
                scaled = exact.astype(np.float32)
        if self.by_query:
            scaled = np.array(scaled, order="C")
            scale_queries(scaled, np.array([0, len(scaled)]))
        if self._sees_order:
            order = -np.log(np.arange(1.0, len(scaled) + 1.0))
            scaled = np.column_stack([scaled, order.astype(np.float32)])
        return scaled


class RunningScale:
    """What has been seen of each feature in shown rankings, and the centre and scale (d,) that are in force.

    A ranker sees (value - centre) / scale. The spread of a feature is its typical deviation from the mean of the
    ranking it is shown in, because rankings are about differences inside them. A feature's scale is first taken from
    the candidates of a request in which it varies, and replaced only when its spread has moved away from it: rarely,
    because what was learned must then be put into other units. `adjusted` features are those left to us.

    >>> scale = RunningScale(2, adjusted=np.array([True, False]), centred=True)
    >>> candidates = np.array([[0.0, 5.0], [1.0, 5.5], [3.0, 6.5], [4.0, 7.0]], dtype=np.float32)
    >>> scale.use(*scale.proposal(candidates))
    array([0.2, 1. ])
    >>> scale(candidates)
    array([[-0.4,  5. ],
           [-0.2,  5.5],
           [ 0.2,  6.5],
           [ 0.4,  7. ]])
    """

    def __init__(self, n_features: int, *, adjusted: Bools, centred: bool) -> None:
        self.adjusted = adjusted
        self._centred = centred
        self.known: Bools = np.zeros(n_features, dtype=np.bool_)
        self.centre: Floats = np.zeros(n_features)
        self.scale: Floats = np.ones(n_features)
        self.n_seen: Ints = np.zeros(n_features, dtype=np.int64)
        self._n_free: Floats = np.zeros(n_features)
        self.mean: Floats = np.zeros(n_features)
        self._squares: Floats = np.zeros(n_features)
        self._note_scale()

    @staticmethod
    def of(spec: PolicySpec, *, rescaling: str) -> RunningScale:
        """For the features whose scale the policy leaves open, as far as its ranker allows."""
        left_open = spec.scaling == "running" and rescaling != "none"
        adjusted = [left_open and column.shift is None and column.scale is None for column in spec.columns]
        return RunningScale(spec.n_features, adjusted=np.array(adjusted), centred=rescaling == "affine")

    @property
    def spread(self) -> Floats:
        """The typical deviation (d,) of each feature inside a ranking; 0 where it never varied."""
        return np.sqrt(self._squares / np.maximum(self._n_free, 1.0))

    @property
    def shift(self) -> Floats:
        """What is subtracted (d,): the centre, or 0 where the ranker depends on where 0 is."""
        return self.centre if self._centred else np.zeros_like(self.centre)

    def __call__(self, features: Floats | NDArray[np.float32]) -> Floats:
        """What the ranker sees of `features` (n, d)."""
        seen: Floats = features.astype(np.float64)
        if self.adjusted.any():
            np.maximum(seen, self._lowest, out=seen)
            np.minimum(seen, self._highest, out=seen)
            seen -= self.shift
            seen /= self.scale
        return seen

    def proposal(self, candidates: NDArray[np.float32]) -> tuple[Floats, Floats] | None:
        """The centre and scale (d,) to use from this ranking of `candidates` (n, d) on; None for those in force."""
        if not self.adjusted.any():
            return None
        where = self._unknown
        if len(where):
            where = where[varies(candidates[:, where])]
        spread = RANGE * self.spread
        enough = self.adjusted & self.known & (self._n_free >= ENOUGH) & (spread > 0.0)
        has_drifted = (enough & ((spread > DRIFT * self.scale) | (DRIFT * spread < self.scale))).any()
        if not len(where) and not has_drifted:
            return None
        centre, scale = self.centre.copy(), self.scale.copy()
        if len(where):
            centre[where], scale[where] = _typical(candidates[:, where].astype(np.float64))
        if has_drifted:
            scale[enough], centre[enough] = spread[enough], self.mean[enough]
        return None if np.array_equal(scale, self.scale) and np.array_equal(centre, self.centre) else (centre, scale)

    def use(self, centre: Floats, scale: Floats) -> Floats:
        """Go on with these; the factors (d,) that values as ranked before are multiplied by."""
        factors = self.scale / scale
        self.known = self.known | (self.adjusted & (scale != self.scale))
        self.centre, self.scale = np.array(centre), np.array(scale)
        self._note_scale()
        return np.asarray(factors)

    def _note_scale(self) -> None:
        """Work out what follows from `known`, `centre` and `scale`; they change rarely, and it is asked for often."""
        self._unknown = np.flatnonzero(self.adjusted & ~self.known)
        reach = np.where(self.known, MOST_SHOWN * self.scale, np.inf)
        self._lowest, self._highest = self.centre - reach, self.centre + reach
        self._most_seen = np.where(self.known, MOST_SEEN * self.scale, np.inf)

    def observe(self, shown: NDArray[np.float32]) -> None:
        """Take note of the features (m, d) that were shown in one ranking."""
        if not self.adjusted.any():
            return
        most, values = self._most_seen, shown.astype(np.float64)
        ranks, n = np.sort(values, axis=0), len(values)
        middle = 0.5 * (ranks[(n - 1) // 2] + ranks[n // 2])  # the median: sorting a few rows is less than selecting
        values -= middle
        np.maximum(values, -most, out=values)
        np.minimum(values, most, out=values)
        values += middle
        centre = values.sum(axis=0) / n
        deviations = np.square(values - centre).sum(axis=0) * (ranks[0] != ranks[-1])
        self.n_seen = self.n_seen + len(values)
        moved = np.clip(centre - self.mean, -most, most)
        self.mean = self.mean + moved * (len(values) / np.minimum(self.n_seen, WINDOW))
        kept = np.minimum(1.0, WINDOW / np.maximum(self._n_free + len(values) - 1, 1.0))
        self._squares = (self._squares + deviations) * kept
        self._n_free = (self._n_free + len(values) - 1) * kept

    def take_over(self, before: RunningScale, remap: Remap, offset: Floats) -> None:
        """Go on with what was seen of the features that stay; `remap` and `offset` (d,) lead to their new values."""
        stay = np.flatnonzero(remap.features != NEW)
        old, factor = remap.features[stay], remap.factors[stay]
        self.n_seen[stay], self._n_free[stay] = before.n_seen[old], before._n_free[old]
        self.mean[stay] = before.mean[old] * factor + offset[stay]
        self._squares[stay] = before._squares[old] * np.square(factor)
        adjusted = self.adjusted[stay] & before.known[old]
        stay, old, factor = stay[adjusted], old[adjusted], factor[adjusted]
        self.known[stay] = True
        self.scale[stay] = before.scale[old] * factor
        self.centre[stay] = before.centre[old] * factor + offset[stay]
        self._note_scale()

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
            "centre": self.centre.copy(),
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
        self.centre, self.scale, self.mean, self._squares, self._n_free = (
            np.array(arrays[name], dtype=np.float64) for name in ("centre", "scale", "mean", "squares", "n_free")
        )
        self._note_scale()


def _typical(values: Floats) -> tuple[Floats, Floats]:
    """The middle (d,) and the range (d,) of most of the `values` (n, d), all of which vary.

    From the quartiles, which a few odd values do not move; from all of them where half are equal.
    """
    low, middle, high = np.percentile(values, (25, 50, 75), axis=0)
    return middle, np.where(high > low, 2.0 * (high - low), RANGE * values.std(axis=0, ddof=1))


def varies(features: NDArray[np.float32]) -> Bools:
    """Which features (d,) differ between rows (n, d) at all; a mean may differ from equal numbers by rounding."""
    return np.asarray(features.max(axis=0) != features.min(axis=0))
