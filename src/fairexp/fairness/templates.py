"""The best fair ranking for one exploration draw: the optimiser on its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf, log2

import numpy as np
from numpy.typing import ArrayLike

from fairexp.arrays import Bools, Bytes, Floats, Ints
from fairexp.errors import ArgumentError
from fairexp.fairness.demands import EFFORT, BestRanking, Demand, Outcome, Rules, is_least
from fairexp.fairness.least_gap import least_gaps
from fairexp.fairness.ledger import within
from fairexp.kernels.search.gaps import SLACK
from fairexp.kernels.search.lattice import Lattice, n_states
from fairexp.kernels.search.reach import Reach
from fairexp.kernels.search.rounds import Aim, Draw, Effort, is_permutation
from fairexp.kernels.search.subsets import Subsets
from fairexp.kernels.search.templates import Search
from fairexp.validation import as_array, as_groups, as_numbers, as_shares

PLAIN_NODES = 300
"""Effort without bounds, which settles the easy rounds; computing bounds is worth its while after that."""

MAX_STATES = 50_000
"""Largest lattice of counts that bounds are computed on; with more the search goes without."""

MAX_CELLS = {2: 1_400_000, 3: 1_000_000}
"""Most cells in the tables of costs ahead, for two groups and for more; a grid that takes more is made coarser."""

SHORT, LAST = 12, 10
"""Lists of at most this many positions are put together from subsets of positions, which takes memory for 3**SHORT of
them; so are the last positions of longer lists, for a first guess."""

EXHAUSTIVE_BITS = 16.0
RESOLUTION = 0.05
"""With more than 2**EXHAUSTIVE_BITS templates, "least unfairness" means: up to this part of the tolerance."""

_NO_KEYS = np.zeros((0, 0), dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class BestTemplate:
    """What `best_template` found.

    `shown` (m,) document indices and `template` (m,) their groups, from the top position down; `added_regret`;
    `exposure` (G,) by group after the round; `unfairness` after it, signed for two groups and a (G, G) matrix for
    more; `qualified`: whether the tolerance is met.

    How good that is, proven by the search: no ranking that is as fair has less added regret than `regret_bound`, and,
    where unfairness was to be the least (not qualified, or the fairest of equals), none has less of it (the largest
    over pairs) than `unfairness_bound`. `exact`: whether both are reached, so that nothing is better. `proof` is one of
    `fairexp.fairness.PROOFS`: what is proven of the tolerance.
    """

    shown: Ints
    template: Ints
    added_regret: int
    exposure: Floats
    unfairness: float | Floats
    qualified: bool
    exact: bool
    regret_bound: int
    unfairness_bound: float
    proof: str


def best_template(
    order: ArrayLike,
    groups: ArrayLike,
    certain_order: ArrayLike,
    *,
    exposure: ArrayLike,
    spent: ArrayLike,
    shares: ArrayLike,
    tolerance: float,
    scope: str = "full",
    ties: str = "draw",
    effort: int = EFFORT,
    rng: np.random.Generator | None = None,
) -> BestTemplate:
    """The ranking that keeps every pair of groups within the tolerance at the least added regret.

    `order` (n,) is the exploration draw, document indices from the best down; `groups` (n,); `certain_order` (n, n)
    says at [i, j] that i surely belongs above j, or, as uint8, what showing i below j costs; `exposure` (k,) by
    position; `spent` (G,) is what each group has been charged so far; `shares` (G,).

    Added regret counts certain orders that the shown list reverses, documents left out included (they stand below
    all that is shown), beyond those that the draw itself reverses. `scope="displayed"` counts among shown documents
    only, which makes it free to hide the best one; it is there for comparison.

    If no ranking is found that meets the tolerance, the least unfair ones found compete, `qualified` is False, and
    `proof` says what is proven. Up to some 10^6 templates are all compared, whatever the effort: then no other has a
    smaller gap. Equals are settled by `ties`: "draw" takes the one closest to the draw from the top down; "fairest" the
    smallest unfairness after the round, then the draw, or chance where `rng` is given.

    The search is exponential in the worst case; after `effort` steps the best ranking so far is returned, with what the
    search has proven about better ones.

    >>> nothing_certain = np.zeros((4, 4), dtype=bool)
    >>> best = best_template([0, 1, 2, 3], [0, 0, 1, 1], nothing_certain, exposure=[1, 0.5, 0.5],
    ...                      spent=[0, 0], shares=[1, 1], tolerance=0.1)
    >>> best.shown, best.template, best.unfairness
    (array([0, 2, 3]), array([0, 1, 1]), 0.0)
    """
    curve, documents = as_curve(exposure), as_order(order)
    demand = Demand(*as_owed(groups, spent, shares, n=len(documents)), check_tolerance(tolerance))
    relation = as_relation(certain_order, len(documents)), np.arange(len(documents))
    rules = Rules(scope, ties, effort)
    best = only(found_templates(documents, demand, relation, curve[: len(documents)], rules, rng=rng))
    (outcome,) = best.outcomes
    return BestTemplate(
        shown=best.shown,
        template=outcome.template,
        added_regret=best.added_regret,
        exposure=outcome.exposure,
        unfairness=outcome.unfairness,
        qualified=outcome.met,
        exact=best.exact,
        regret_bound=best.regret_bound,
        unfairness_bound=outcome.gap_bound,
        proof=outcome.proof,
    )


def found_templates(
    order: Ints,
    demand: Demand,
    relation: tuple[Bools | Bytes, Ints],
    exposure: Floats,
    rules: Rules,
    *,
    parts: Sequence[float] = (1.0,),
    rng: np.random.Generator | None = None,
) -> Iterator[BestRanking | None]:
    """`best_template` without its checks: the best within each of `parts` of the tolerance, as they are asked for.

    Of a part that is not the last, None where no list was found within it. `relation` is `Belief.costs`, `exposure`
    (m,) has at most n entries.
    """
    groups, spent, shares, whole = demand
    fairest, n_groups = rules.fairest, len(shares)
    keys = _NO_KEYS if rng is None or not fairest else tie_keys(rng, n_groups, len(exposure))
    searches = _searches(exposure.tobytes(), n_groups)
    search = searches.take()
    search.begin(Draw(order, groups, *relation), Aim(spent, shares, whole, rules.displayed_only, fairest, keys))
    try:
        for number, part in enumerate(parts, start=1):
            tolerance = part * whole
            resolution = searches.resolution(tolerance)
            effort = Effort(PLAIN_NODES, rules.effort, searches.max_cells, resolution)
            if search.within(tolerance, effort):
                gap_bound = search.gap_bound
            elif number < len(parts):
                yield None
                continue
            else:
                search.owed.begin(spent, shares, np.array([tolerance]))
                known, limits, bounds = least_gaps(search, groups[order[: len(exposure)]], rules.effort)
                search.around(max(float(limits[0]), tolerance), known, effort)
                gap_bound, resolution = float(bounds[0]), 0.0
            shown, template, regret, after, gap = search.answer()
            met = within(gap, tolerance)
            exact = search.bound >= regret and ((met and not fairest) or is_least(gap, gap_bound + resolution))
            outcome = Outcome.of(template, after, shares, gap=gap, tolerance=tolerance, bound=gap_bound)
            yield BestRanking(shown, regret, exact, search.bound, (outcome,))
    finally:
        searches.idle.append(search)


def only(found: Iterator[BestRanking | None]) -> BestRanking:
    """The one ranking of a search that was asked for the whole tolerance alone."""
    (best,) = found
    assert best is not None
    return best


def tie_keys(rng: np.random.Generator | None, n_groups: int, length: int) -> Ints:
    """What settles equals by chance (G, m); none without `rng`."""
    return _NO_KEYS if rng is None else rng.permutation(n_groups * length).reshape(n_groups, length)


class Searches:
    """What is kept for lists of one curve: the searches that nobody uses at the moment.

    Each serves one thread at a time. Short lists have subsets of all positions, long ones of the last and a lattice.
    """

    def __init__(self, exposure: bytes, n_groups: int) -> None:
        self.curve, self.n_groups = np.frombuffer(exposure), n_groups
        self.idle: list[Search] = []
        self.max_cells = MAX_CELLS[min(n_groups, 3)]
        exhaustive = len(self.curve) * log2(n_groups) <= EXHAUSTIVE_BITS
        self._coarseness, self._most = (0.0, 0.0) if exhaustive else (RESOLUTION, 0.1 * float(self.curve.sum()))

    def resolution(self, tolerance: float) -> float:
        """How finely the least unfairness is searched for: to rounding in short lists, see `RESOLUTION` in long."""
        return self._coarseness * min(tolerance, self._most) + 2.0 * SLACK

    def take(self) -> Search:
        """A search, which whoever is done with it puts back to the `idle` ones."""
        try:
            return self.idle.pop()
        except IndexError:
            return self._new()

    def _new(self) -> Search:
        exposure, length = self.curve.tobytes(), len(self.curve)
        if length <= SHORT:
            return Search(self.curve, self.n_groups, kept_reach(exposure), _subsets(exposure))
        last = self.curve[-LAST:].tobytes()
        return Search(self.curve, self.n_groups, kept_reach(exposure), _subsets(last), _lattice(length, self.n_groups))


@lru_cache(maxsize=64)
def _searches(exposure: bytes, n_groups: int) -> Searches:
    """The searches for a curve; curves are few."""
    return Searches(exposure, n_groups)


@lru_cache(maxsize=64)
def kept_reach(exposure: bytes) -> Reach:
    """The sums of exposure that positions from each one down can give; curves are few, so they are kept."""
    return Reach(np.frombuffer(exposure))


@lru_cache(maxsize=64)
def _subsets(exposure: bytes) -> Subsets:
    """The subsets of the positions."""
    return Subsets(np.frombuffer(exposure))


@lru_cache(maxsize=64)
def _lattice(length: int, n_groups: int) -> Lattice | None:
    """The states that bounds are kept for; none where they would be too many."""
    return Lattice(length, n_groups) if n_states(length, n_groups) <= MAX_STATES else None


def check_tolerance(tolerance: float) -> float:
    """`tolerance` if it is a number of at least 0 (infinity allowed), or an `ArgumentError`."""
    is_number = isinstance(tolerance, int | float | np.integer | np.floating) and not isinstance(tolerance, bool)
    if not is_number or not tolerance >= 0:
        raise ArgumentError("tolerance", repr(tolerance), "a number of at least 0 (infinity for no limit)")
    return float(tolerance)


def as_owed(groups: ArrayLike, spent: ArrayLike, shares: ArrayLike, *, n: int) -> tuple[Ints, Floats, Floats]:
    """Groups (n,) of documents, what groups have been charged (G,) and their shares (G,), if they fit each other."""
    owed, belongs = as_shares(shares), as_groups(groups, n=n)
    account = as_numbers("spent", spent, n=len(owed), each="share")
    if not all(-inf < number < inf for number in account.tolist()):
        raise ArgumentError("spent", repr(spent), f"{len(owed)} finite numbers, one per share")
    if belongs.max() >= len(owed):
        raise ArgumentError("groups", int(belongs.max()), f"group numbers below {len(owed)}, one share each")
    return belongs, account, owed


def as_curve(exposure: ArrayLike) -> Floats:
    """Exposure by position (k,), or an `ArgumentError`."""
    curve = as_array("exposure", exposure)
    if curve.ndim != 1 or len(curve) == 0 or curve.dtype.kind not in "fiu":
        raise ArgumentError("exposure", repr(exposure), "one number per position")
    if not all(0.0 <= number < inf for number in curve.tolist()):
        raise ArgumentError("exposure", repr(exposure), "finite numbers of at least 0")
    return np.ascontiguousarray(curve, dtype=np.float64)


def as_relation(certain_order: ArrayLike, n: int) -> Bools | Bytes:
    """Certain orders (n, n), or what reversing them costs, or an `ArgumentError`."""
    given = as_array("certain_order", certain_order)
    if given.shape != (n, n) or given.dtype not in (np.bool_, np.uint8):
        raise ArgumentError(
            "certain_order", f"{given.dtype} of shape {given.shape}", f"booleans or uint8 of shape ({n}, {n})"
        )
    return np.ascontiguousarray(given)


def as_order(order: ArrayLike) -> Ints:
    """An exploration draw (n,), or an `ArgumentError`."""
    given = as_array("order", order)
    expected = "a permutation of 0..n-1: every document once, best first"
    if given.ndim != 1 or len(given) == 0 or given.dtype.kind not in "iu":
        raise ArgumentError("order", repr(order), expected)
    documents = np.ascontiguousarray(given, dtype=np.int64)
    if not is_permutation(documents):
        raise ArgumentError("order", repr(order), expected)
    return documents
