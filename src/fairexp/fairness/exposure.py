"""Exposure: the attention that a position receives, assumed or estimated, and how finely templates can divide it."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from reprlib import repr as short_repr

import numpy as np
from numpy.typing import ArrayLike

from fairexp.arrays import Bools, Floats, Ints
from fairexp.errors import ArgumentError, DataError
from fairexp.validation import as_array, as_shares, check_count

__all__ = [
    "CURVES",
    "ExposureEstimate",
    "ReachableGap",
    "curve_name",
    "estimate_exposure",
    "exposure_curve",
    "reachable_gap",
]

CURVES: Mapping[str, Callable[[Floats], Floats]] = {
    "reciprocal": lambda position: 1.0 / position,
    "logarithmic": lambda position: 1.0 / np.log2(1.0 + position),
    "flat": lambda position: np.ones_like(position),
}
"""Named curves, as functions of the position from 1."""

MAX_BALANCES = 1 << 16
"""Partial templates that `reachable_gap` follows at once; more are thinned out."""


def exposure_curve(spec: str | Path | ArrayLike, length: int) -> Floats:
    """The exposure (length,) of positions 1..length.

    `spec` is "reciprocal" (1/p), "logarithmic" (1/log2(1+p)), "flat" (1), a .json or .csv file that an
    `ExposureEstimate` was saved to, or an array of at least `length` positive finite numbers.

    >>> exposure_curve("reciprocal", 4).round(3).tolist()
    [1.0, 0.5, 0.333, 0.25]
    >>> exposure_curve([1.0, 0.6, 0.4], 2).tolist()
    [1.0, 0.6]
    """
    positions = np.arange(1, check_count("length", length) + 1, dtype=np.float64)
    if isinstance(spec, str) and spec in CURVES:
        return CURVES[spec](positions)
    given = as_array("exposure", _read_curve(Path(spec)) if isinstance(spec, str | Path) else spec)
    if given.ndim != 1 or given.dtype.kind not in "iuf":
        raise ArgumentError(
            "exposure", short_repr(spec), f"one of {', '.join(map(repr, CURVES))}, or numbers by position"
        )
    if len(given) < length:
        raise ArgumentError("exposure", f"{len(given)} positions", f"at least {length}, the length of the rankings")
    curve = given[:length].astype(np.float64)
    if not (np.isfinite(curve) & (curve > 0)).all():
        bad = int(np.argmin(np.isfinite(curve) & (curve > 0)))
        raise ArgumentError("exposure", f"{curve[bad]} at position {bad + 1}", "positive finite numbers")
    return curve


def curve_name(curve: Floats) -> str | Floats:
    """What `exposure_curve` makes this `curve` (k,) from: the name of one of `CURVES`, or the numbers themselves.

    >>> curve_name(np.array([1.0, 0.5]))
    'reciprocal'
    """
    names = (name for name in CURVES if np.array_equal(exposure_curve(name, len(curve)), curve))
    return next(names, curve)


@dataclass(frozen=True, slots=True, eq=False)
class ExposureEstimate:
    """An estimated `curve` (k,) relative to position 1, its `standard_error` (k,) and the sessions behind it."""

    curve: Floats
    standard_error: Floats
    n_sessions: int

    def save(self, path: str | Path) -> None:
        """Write to a .json or .csv file that `exposure_curve` reads."""
        target = Path(path)
        if target.suffix not in (".json", ".csv"):
            raise ArgumentError("path", repr(str(path)), "a file name that ends in .json or .csv")
        if target.suffix == ".json":
            record = {
                "exposure": self.curve.tolist(),
                "standard_error": self.standard_error.tolist(),
                "n_sessions": self.n_sessions,
            }
            target.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
            return
        with target.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["position", "exposure", "standard_error"])
            columns = (self.curve.tolist(), self.standard_error.tolist())
            writer.writerows([p, *row] for p, row in enumerate(zip(*columns, strict=True), start=1))


def estimate_exposure(clicks: ArrayLike, *, partner: ArrayLike | None = None) -> ExposureEstimate:
    """Exposure from clicks on rankings that were randomised on purpose: clicks at p over clicks at 1.

    `clicks` (S, k) has one session per row, one column per position. Without `partner` the lists were uniform
    shuffles, so that every position showed equally relevant documents on average. With `partner` (S,), positions from
    2 to k, a coin decided in each session whether positions 1 and partner changed places (Joachims, Swaminathan and
    Schnabel, WSDM 2017); position p is then judged by the sessions whose partner was p. The sessions in which the coin
    left the list alone belong to the sample.

    Standard errors are by the delta method: for r = mean(c_p) / mean(c_1), the standard deviation of c_p - r c_1 over
    sqrt(S) mean(c_1).

    >>> estimate_exposure([[1, 1], [1, 0], [1, 0], [1, 1]]).curve.tolist()
    [1.0, 0.5]
    """
    sessions = _as_sessions(clicks)
    n_sessions, length = sessions.shape
    partners = None if partner is None else _as_partners(partner, n_sessions, length)
    curve = np.ones(length)
    error = np.zeros(length)
    for position in range(1, length):
        sample = sessions if partners is None else sessions[partners == position + 1]
        curve[position], error[position] = _click_ratio(sample[:, position], sample[:, 0], position + 1)
    return ExposureEstimate(curve, error, n_sessions)


@dataclass(frozen=True, slots=True)
class ReachableGap:
    """The reachable unfairness values next to zero: `below` <= 0 <= `above`, both 0 where zero itself is reachable.

    `exact` says whether they are the nearest ones; if not, the true gap may be smaller, never larger.
    """

    below: float
    above: float
    exact: bool = True

    @property
    def gap(self) -> float:
        return self.above - self.below

    @property
    def least_tolerance(self) -> float:
        """The least tolerance that can be kept in the next round from every balance within it."""
        return self.gap / 2


def reachable_gap(exposure: ArrayLike, shares: ArrayLike) -> ReachableGap:
    """How finely the templates of one ranking divide `exposure` (k,) between two groups with `shares` (2,).

    A template's unfairness is u = E_0 - (w_0 / w_1) E_1. From any unfairness within the tolerance there is a template
    that stays within it if and only if no template-free gap around zero is wider than twice the tolerance: gaps
    elsewhere do not matter, because the values that keep a balance within form a window that contains zero. With a
    tolerance under `least_tolerance` a run can come to a balance that no template keeps within it, even if no group
    ever lacks documents.

    Exact up to 16 positions; beyond, balances that lie close together are searched through one of them. Every value
    found is reachable, so the true gap is never wider than the one returned.

    >>> reachable_gap([1.0, 1.0, 1.0], [1.0, 1.0]).least_tolerance
    1.0
    """
    weights = as_shares(shares)
    if len(weights) != 2:
        raise ArgumentError("shares", f"{len(weights)} groups", "two groups")
    beta = float(weights[0] / weights[1])
    curve = -np.sort(-exposure_curve(exposure, as_array("exposure", exposure).size))
    below, above, exact = _nearest_to_zero(curve, beta)
    rounding = 1e-12 * (1.0 + beta) * float(curve.sum())
    if below >= -rounding or above <= rounding:
        return ReachableGap(0.0, 0.0)
    return ReachableGap(below, above, exact)


def _nearest_to_zero(curve: Floats, beta: float) -> tuple[float, float, bool]:
    """The unfairness values nearest to zero on both sides over templates of `curve` (k,), and whether that is sure.

    Positions are dealt to the groups one by one, the most exposed first, for many balances at once. A balance that what
    remains cannot bring back to zero has a best ending, one group everywhere; it is noted, and the balance dropped.
    """
    below, above, exact = -np.inf, np.inf, True
    balances = np.zeros(1)
    for position, amount in enumerate(curve):
        left = float(curve[position + 1 :].sum())
        balances = np.concatenate([balances + amount, balances - beta * amount])
        below = float((balances[balances <= -left] + left).max(initial=below))
        above = float((balances[balances >= beta * left] - beta * left).min(initial=above))
        balances = balances[(balances > -left) & (balances < beta * left)]
        if len(balances) > MAX_BALANCES:
            exact = False
            balances = _thinned(balances, -left, beta * left)
    return below, above, exact


def _thinned(balances: Floats, low: float, high: float) -> Floats:
    """One of the balances for each of 4096 equal parts of [low, high] that holds any."""
    n_parts = MAX_BALANCES // 16
    part = ((balances - low) / (high - low) * n_parts).astype(np.int64).clip(0, n_parts - 1)
    kept: Floats = np.full(n_parts, np.nan)
    kept[part] = balances
    return np.asarray(kept[~np.isnan(kept)])


def _click_ratio(at_position: Bools, at_top: Bools, position: int) -> tuple[float, float]:
    n_sessions = len(at_top)
    top_rate = float(at_top.mean()) if n_sessions else 0.0
    if top_rate == 0.0:
        raise ArgumentError(
            "clicks",
            f"no click at position 1 in the {n_sessions} sessions that tell of position {position}",
            "clicks at position 1, which all others are measured against",
            "Collect more sessions.",
        )
    ratio = float(at_position.mean()) / top_rate
    both = float((at_position & at_top).mean())
    variance = float(at_position.mean()) - 2.0 * ratio * both + ratio**2 * top_rate
    return ratio, float(np.sqrt(max(0.0, variance) / n_sessions) / top_rate)


def _as_sessions(clicks: ArrayLike) -> Bools:
    given = as_array("clicks", clicks)
    if given.ndim != 2 or given.shape[0] == 0 or given.shape[1] == 0:
        raise ArgumentError("clicks", f"shape {given.shape}", "one row per session, one column per position (S, k)")
    if given.dtype.kind != "b" and not (given.dtype.kind in "iuf" and np.isin(given, (0, 1)).all()):
        raise ArgumentError("clicks", f"dtype {given.dtype} with values other than 0 and 1", "booleans (or 0 and 1)")
    return given.astype(np.bool_)


def _as_partners(partner: ArrayLike, n_sessions: int, length: int) -> Ints:
    given = as_array("partner", partner)
    if given.shape != (n_sessions,) or given.dtype.kind not in "iu":
        raise ArgumentError("partner", f"shape {given.shape} and dtype {given.dtype}", f"({n_sessions},) integers")
    if not 2 <= given.min() <= given.max() <= length:
        raise ArgumentError("partner", f"positions {given.min()} to {given.max()}", f"positions 2 to {length}")
    return given.astype(np.int64)


def _read_curve(path: Path) -> list[float]:
    if path.suffix not in (".json", ".csv"):
        expected = f"one of {', '.join(map(repr, CURVES))}, numbers by position, or a .json or .csv file"
        raise ArgumentError("exposure", repr(str(path)), expected)
    if not path.is_file():
        raise ArgumentError("exposure", f"{str(path)!r}, which does not exist", "a file that `fairexp exposure` wrote")
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".json":
            return [float(value) for value in json.loads(text)["exposure"]]
        return [float(row["exposure"]) for row in csv.DictReader(text.splitlines())]
    except (ValueError, KeyError, TypeError) as error:
        problem = f"no exposure curve in it ({type(error).__name__}: {error})"
        raise DataError(path, f"{problem}; expected a file that `fairexp exposure` wrote") from error
