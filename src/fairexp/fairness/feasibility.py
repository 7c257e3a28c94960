"""Whether exposure can be kept fair at all: by the curve alone, and by the candidates that queries have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import ceil, floor, log10
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairexp.arrays import Floats, Ints
from fairexp.errors import ArgumentError
from fairexp.fairness.exposure import reachable_gap
from fairexp.fairness.ledger import within
from fairexp.fairness.search import AIM, EFFORT, Demand, Rules, as_curve, check_tolerance, found_templates
from fairexp.randomness import make_rng
from fairexp.validation import as_shares, check_count

Number = TypeVar("Number", np.int64, np.float64)

ROUNDS = 1000
ENOUGH = 0.99
"""Where at least so many rounds can keep the tolerance, there is nothing to say."""

MOST = 0.95
"""The part of rounds for which a tolerance is looked for where the given one is kept too rarely."""

CURVE_ROUNDS = 60
MOST_GROUPS = 10
"""With more groups the least tolerance of a curve is not looked for, and of their sets only single ones and all but
one are."""


@dataclass(frozen=True, slots=True, eq=False)
class Feasibility:
    """How far fairness is possible for queries with such candidates.

    - `without` (G,): the part of queries that have no candidate of each group; `one_group`: that have one group only.
    - `owed` (G,) and `most` (G,): the part of all exposure that each group is owed, and the most that it can get.
    - `short`: groups that together are owed more than they can get, so that no tolerance holds for long; else empty.
      `short_most` is the most of all exposure that they can get.
    - `least_tolerance`: the least that can be kept if candidates never lack; None where that is not known.
    - `qualified`: the part of `rounds` in which `tolerance` was kept by lists that chance proposes, fairly arranged.
    - `most_tolerance`: what the fairest lists keep in `MOST` of the rounds.
    """

    tolerance: float
    rounds: int
    without: Floats
    one_group: float
    owed: Floats
    most: Floats
    short: tuple[int, ...]
    short_most: float
    least_tolerance: float | None
    qualified: float
    most_tolerance: float

    @property
    def is_enough(self) -> bool:
        """Whether the tolerance can be kept nearly always."""
        return self.qualified >= ENOUGH

    @property
    def short_owed(self) -> float:
        """The part of all exposure that the groups of `short` are owed together."""
        return float(self.owed[list(self.short)].sum())

    def notes(self, names: Sequence[str]) -> list[str]:
        """What one should know before a run, in sentences; nothing where the tolerance can be kept nearly always."""
        if self.is_enough:
            return []
        part = f"about {self.qualified:.0%}" if self.qualified >= 0.01 else "less than 1%"
        lacking = [f"{lack:.1%} have no {name!r}" for name, lack in zip(names, self.without, strict=True) if lack > 0]
        told = f"Of the queries {'; '.join(lacking)}" if lacking else "No query lacks a group"
        first = (
            f"fairness: the tolerance of {self.tolerance:g} can be kept in {part} of rounds "
            f"({self.rounds:,} tried without learning); the others will show the least unfair list. "
            f"{told}."
        )
        return [first, self._remedy(names)]

    def _remedy(self, names: Sequence[str]) -> str:
        if self.short:
            groups = [names[group] for group in self.short]
            return (
                f"fairness: {' and '.join(map(repr, groups))} can get at most {self.short_most:.1%} of all exposure "
                f"and {'are' if len(groups) > 1 else 'is'} owed {self.short_owed:.1%}, so the gap grows "
                "without end. It takes other shares, another grouping, or candidates of every group for more queries."
            )
        if self.least_tolerance is not None and not within(self.least_tolerance, self.tolerance):
            return (
                f"fairness: this exposure curve allows no tolerance below about {self.least_tolerance:.3g}, however "
                "many candidates there are. It takes a larger tolerance, a longer list, or a less flat curve."
            )
        if within(self.most_tolerance, self.tolerance):
            return (
                "fairness: rounds beyond it lack candidates of some group. It takes more candidates of every group, "
                f"another grouping, or ties=fairest, which kept {self.most_tolerance:.3g} in {MOST:.0%} of rounds."
            )
        return (
            f"fairness: even the fairest lists keep only {self.most_tolerance:.3g} in {MOST:.0%} of rounds; for "
            f"{self.tolerance:g} it takes more candidates of every group, or another grouping."
        )


def feasibility(
    counts: ArrayLike,
    *,
    exposure: ArrayLike,
    shares: ArrayLike,
    tolerance: float,
    rounds: int = ROUNDS,
    seed: int = 0,
) -> Feasibility:
    """How far `tolerance` can be kept where queries, drawn evenly, have `counts` (Q, G) candidates of each group.

    Lists that chance proposes are arranged fairly as FairExp does while nothing is certain: no clicks, no learning.
    Whether what groups (any set of them) are owed can be had in the long run is computed, not played: the lists of a
    query can give a set of groups anything up to the most exposed positions that its candidates fill, and averages over
    queries anything up to the sums of these.

    >>> told = feasibility([[5, 5], [5, 0]], exposure=[1.0, 0.5, 0.25], shares=[1, 1], tolerance=0.3, rounds=100)
    >>> told.without.tolist(), told.most.tolist(), told.short
    ([0.0, 0.5], [1.0, 0.5], ())
    """
    curve, owed, limit = as_curve(exposure), as_shares(shares), check_tolerance(tolerance)
    table = _as_counts(counts, len(owed))
    check_count("rounds", rounds)
    short, short_most = _short_groups(table, curve, owed)
    gaps = play(table, exposure=curve, shares=owed, tolerance=limit, rounds=rounds, seed=seed)
    fairest = play(table, exposure=curve, shares=owed, tolerance=0.0, ties="fairest", rounds=rounds, seed=seed)
    everything = _most(table, curve, range(len(owed)))
    return Feasibility(
        tolerance=limit,
        rounds=rounds,
        without=(table == 0).mean(axis=0),
        one_group=float(((table > 0).sum(axis=1) == 1).mean()),
        owed=owed / owed.sum(),
        most=np.array([_most(table, curve, (group,)) for group in range(len(owed))]) / everything,
        short=short,
        short_most=short_most,
        least_tolerance=least_tolerance(curve, owed),
        qualified=float(np.mean([within(gap, limit) for gap in gaps.tolist()])),
        most_tolerance=float(np.quantile(fairest, MOST, method="higher")),
    )


@dataclass(frozen=True, slots=True)
class Remedy:
    """Something that could be done, and the part of rounds that would keep the tolerance then."""

    what: str
    qualified: float


def remedies(
    counts: ArrayLike,
    *,
    curves: Sequence[ArrayLike],
    shares: ArrayLike,
    names: Sequence[str],
    told: Feasibility,
) -> list[Remedy]:
    """What it would take to keep the tolerance more often than `told`, each thing tried by itself.

    `curves` are exposure curves of other lengths; the first is the present one. Tried are a larger tolerance, without
    and with FairExp's ties=fairest, lists of these lengths, shares that can be had where the present ones cannot, more
    candidates of every group for every query, and, with more than two groups, the two that lack most often as one.
    """
    owed, (curve, *others) = as_shares(shares), [as_curve(each) for each in curves]
    table = _as_counts(counts, len(owed))

    def tried(
        what: str, table: Ints, curve: Floats, owed: Floats, tolerance: float = told.tolerance, ties: str = "draw"
    ) -> Remedy:
        gaps = play(table, exposure=curve, shares=owed, tolerance=tolerance, ties=ties, rounds=told.rounds)
        return Remedy(what, float(np.mean([within(gap, tolerance) for gap in gaps.tolist()])))

    found: list[Remedy] = []
    if not told.short:
        larger = _rounded_up(max(told.most_tolerance, told.tolerance))
        if larger > told.tolerance:
            found.append(tried(f"a tolerance of {larger:g}", table, curve, owed, larger))
        what = f"a tolerance of {larger:g} and ties=fairest"
        found.append(tried(what, table, curve, owed, larger, ties="fairest"))
    found += [tried(f"lists of {len(other)}", table, other, owed) for other in others]
    if told.short and len(owed) == 2:
        part = float(f"{0.9 * told.short_most:.2g}")
        owing = np.where(np.arange(2) == told.short[0], part, 1.0 - part)
        found.append(tried(f"shares of {owing[0]:g} : {owing[1]:g}", table, curve, owing))
    if (table < len(curve)).any():
        pooled = np.maximum(table, len(curve))
        found.append(tried(f"{len(curve)} candidates of every group for every query", pooled, curve, owed))
    if len(owed) > 2:
        rare = sorted(np.argsort(-told.without, kind="stable")[:2].tolist())
        merged, sums = _merged(table, rare), _merged(owed[None, :], rare)[0]
        found.append(tried(f"{names[rare[0]]!r} and {names[rare[1]]!r} as one group", merged, curve, sums))
    return found


def play(
    counts: Ints,
    *,
    exposure: Floats,
    shares: Floats,
    tolerance: float,
    ties: str = "draw",
    rounds: int = ROUNDS,
    seed: int = 0,
) -> Floats:
    """The largest gap (rounds,) after each of so many rounds of queries that are drawn evenly from `counts` (Q, G).

    Candidates come in random order and nothing is certain of them, so that only fairness decides, and being fairer
    than one must costs nothing (`FairExp.fairness_budget`).
    """
    rng, spent, gaps = make_rng(seed), np.zeros(len(shares)), np.empty(rounds)
    nothing, rules = np.zeros((1, 1), dtype=np.bool_), Rules("full", ties, EFFORT)
    for number in range(rounds):
        groups = np.repeat(np.arange(len(shares)), counts[int(rng.integers(len(counts)))])
        relation = nothing, np.zeros(len(groups), dtype=np.int64)
        demand = Demand(groups, spent, shares, tolerance)
        found = found_templates(
            rng.permutation(len(groups)), demand, relation, exposure[: len(groups)], rules, parts=(AIM, 1.0)
        )
        close = next(found)
        best = next(found) if close is None else close
        assert best is not None
        spent, gaps[number] = best.outcomes[0].exposure, best.outcomes[0].gap
    return gaps


def least_tolerance(exposure: ArrayLike, shares: ArrayLike) -> float | None:
    """The least tolerance that templates of `exposure` (k,) can keep for `shares` (G,) if candidates never lack.

    For two groups it is that of `reachable_gap`: less cannot be kept from every balance within it. For more, up to
    `MOST_GROUPS`, it is what the fairest templates kept in some dozens of rounds; beyond that None.

    >>> least_tolerance(np.ones(3), [1.0, 1.0]), round(least_tolerance(np.ones(4), [1.0, 1.0, 1.0]), 3)
    (1.0, 1.0)
    """
    curve, owed = as_curve(exposure), as_shares(shares)
    if len(owed) > MOST_GROUPS:
        return None
    return _least_tolerance(curve.tobytes(), owed.tobytes())


@lru_cache(maxsize=64)
def _least_tolerance(exposure: bytes, shares: bytes) -> float:
    curve, owed = np.frombuffer(exposure), np.frombuffer(shares)
    if len(owed) == 2:
        return reachable_gap(curve, owed).least_tolerance
    plenty = np.full((1, len(owed)), len(curve))
    gaps = play(plenty, exposure=curve, shares=owed, tolerance=0.0, ties="fairest", rounds=CURVE_ROUNDS)
    return float(gaps.max())


def coarse_curve(exposure: ArrayLike, shares: ArrayLike, tolerance: float) -> str | None:
    """What to say where the curve alone keeps `tolerance` from being kept; None where it does not."""
    least = least_tolerance(exposure, shares) if np.isfinite(tolerance) else None
    if least is None or within(least, tolerance):
        return None
    grid = "half the grid of reachable unfairness" if np.size(shares) == 2 else "what the fairest lists keep"
    return (
        f"tolerance: {tolerance:g} is below {grid} ({least:.3g}) for this exposure curve and {np.size(exposure)} "
        "positions. Some rounds may have no qualified ranking however many candidates there are; raise the tolerance "
        "or use a less flat curve."
    )


def _short_groups(counts: Ints, curve: Floats, shares: Floats) -> tuple[tuple[int, ...], float]:
    """The set of groups that falls most short of what it is owed in the long run, and the most that it can get."""
    worst: tuple[int, ...] = ()
    most, lack = 0.0, 1e-9
    everything = _most(counts, curve, range(len(shares)))
    for groups in _sets(len(shares)):
        reachable = _most(counts, curve, groups) / everything
        missing = float(shares[list(groups)].sum() / shares.sum()) - reachable
        if missing > lack + 1e-9:
            worst, most, lack = groups, reachable, missing
    return worst, most


def _sets(n_groups: int) -> Iterator[tuple[int, ...]]:
    """The sets of groups to look at, small ones first, but for none and all."""
    sizes = range(1, n_groups) if n_groups <= MOST_GROUPS else (1, n_groups - 1)
    for size in sizes:
        yield from combinations(range(n_groups), size)


def _most(counts: Ints, curve: Floats, groups: Sequence[int]) -> float:
    """The most exposure that these groups together can get from a query, in the mean over queries."""
    length = len(curve)
    shown, members = counts.sum(axis=1).clip(max=length), counts[:, list(groups)].sum(axis=1).clip(max=length)
    tops = np.zeros((length + 1, length + 1))
    for n in range(1, length + 1):
        tops[n, 1 : n + 1] = np.cumsum(-np.sort(-curve[:n]))
    return float(tops[shown, members].mean())


def _rounded_up(number: float) -> float:
    """The next number of two digits.

    >>> _rounded_up(1.234), _rounded_up(0.1)
    (1.3, 0.1)
    """
    step = 10.0 ** (floor(log10(number)) - 1) if number > 0 else 1.0
    return float(f"{ceil(number / step - 1e-9) * step:.2g}")


def _merged(table: NDArray[Number], pair: Sequence[int]) -> NDArray[Number]:
    """The columns of a table with the two of `pair` added up, last."""
    return np.column_stack([np.delete(table, pair, axis=1), table[:, pair].sum(axis=1)])


def _as_counts(counts: ArrayLike, n_groups: int) -> Ints:
    given = np.asarray(counts)
    if given.ndim != 2 or given.shape[1] != n_groups or len(given) == 0 or given.dtype.kind not in "iu":
        told = f"{given.dtype} of shape {given.shape}"
        raise ArgumentError("counts", told, f"whole numbers, a row per query and {n_groups} columns, one per share")
    if given.min() < 0 or given.sum(axis=1).min() == 0:
        raise ArgumentError("counts", "a query without candidates, or a number below 0", "at least one candidate each")
    return given.astype(np.int64)
