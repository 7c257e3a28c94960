"""The best fair ranking for one exploration draw: the search behind FairExp, and its records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import factorial, inf, log2, nextafter
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fairexp.arrays import Bools, Bytes, Floats, Ints
from fairexp.errors import ArgumentError
from fairexp.fairness.ledger import amounts_by_group, signed_gaps, within
from fairexp.kernels.fairness.gaps import EPSILON, largest_gap
from fairexp.kernels.fairness.lattice import Lattice, n_states
from fairexp.kernels.fairness.least_gap import LeastGap, Words
from fairexp.kernels.fairness.owed import Owed
from fairexp.kernels.fairness.rankings import RankingSearch
from fairexp.kernels.fairness.reach import Reach
from fairexp.kernels.fairness.rounds import Aim, Draw, Effort, is_permutation
from fairexp.kernels.fairness.subsets import Subsets
from fairexp.kernels.fairness.templates import Search
from fairexp.validation import as_array, as_groups, as_numbers, as_shares, check_choice, check_count

TIES = ("draw", "fairest")
SCOPES = ("full", "displayed")
EFFORT = 4_000
"""Steps of the search per ranking, of about a third of a microsecond each; beyond them the best so far is taken."""

AIM = 0.1
"""The part of a tolerance that fairness budget is spent on coming within; within less nothing is gained."""

NARROW = 0.1
"""Up to this part of the top position's exposure a tolerance is narrow: all of the fairness budget may be spent."""


class Rules:
    """How rankings compare: over which `scope` regret is counted and how `ties` are settled; and the effort."""

    __slots__ = ("displayed_only", "effort", "fairest")

    def __init__(self, scope: str, ties: str, effort: int) -> None:
        self.displayed_only = check_choice("scope", scope, SCOPES) == "displayed"
        self.fairest = check_choice("ties", ties, TIES) == "fairest"
        self.effort = check_count("effort", effort)


class Demand(NamedTuple):
    """What one constraint asks of one round.

    `groups` (n,) of the documents, what each group has been charged so far in `spent` (G,), what it is owed in `shares`
    (G,), and the tolerance that no pair of groups may miss that by.
    """

    groups: Ints
    spent: Floats
    shares: Floats
    tolerance: float

    def within(self, part: float) -> Demand:
        """The same for a part of the tolerance."""
        return self._replace(tolerance=part * self.tolerance)

    def aim(self, top: float) -> float:
        """What part of a fairness budget may be spent on coming within `AIM` of the tolerance.

        `top` is the top position's exposure. A tolerance up to that is kept or missed by single lists, and there is
        less to spend the wider it is. Within a wider one the gap builds up over rounds, and `lift` keeps it back.

        >>> import numpy as np
        >>> balance = {"groups": np.array([0, 1]), "spent": np.array([9.0, 5.0]), "shares": np.ones(2)}
        >>> [Demand(**balance, tolerance=tolerance).aim(top=1.0) for tolerance in (0.1, 0.5, 2.0)]
        [1.0, 0.04, 0.0]
        """
        return 1.0 / max(self.tolerance / (NARROW * top), 1.0) ** 2 if self.tolerance <= top else 0.0

    def lift(self, top: float) -> Floats | None:
        """What part of a lift (G,) each group's documents have within a tolerance wider than the `top` exposure.

        The group furthest behind has that of the one furthest ahead and as much more as the gap has used up of the
        tolerance. None where nothing is to be lifted.

        >>> import numpy as np
        >>> balance = {"groups": np.array([0, 1]), "spent": np.array([9.0, 5.0]), "shares": np.ones(2)}
        >>> Demand(**balance, tolerance=8.0).lift(top=1.0), Demand(**balance, tolerance=0.1).lift(top=1.0)
        (array([-0.25,  0.25]), None)
        """
        if self.tolerance <= top:
            return None
        received = self.spent / self.shares
        apart = float(received.max() - received.min())
        used = min(largest_gap(self.spent, self.shares) / self.tolerance, 1.0)
        return (received.mean() - received) * (used / apart) if apart > 0.0 and used > 0.0 else None


FOUND, LEAST, IMPOSSIBLE, UNPROVEN = PROOFS = ("found", "least", "impossible", "unproven")
"""What is proven of a ranking, in one word:

- `found`: it is within the tolerance.
- `least`: it is beyond the tolerance, and no ranking has a smaller gap.
- `impossible`: it is beyond the tolerance, and so is every ranking. One with a smaller gap may exist.
- `unproven`: it is beyond the tolerance, and a ranking within it may exist.

No ranking has a gap below the `gap_bound` that comes with the word. Of several demands the first one beyond its
tolerance decides. There `least` says that no ranking does better by any demand without doing worse by one before it.
"""


def is_least(gap: float, bound: float) -> bool:
    """Whether a gap is the least if no ranking has one below `bound`: what rounding adds must not decide."""
    return gap <= bound + 2.0 * EPSILON


class Outcome(NamedTuple):
    """What a ranking makes of one demand.

    `template` (m,) holds the groups from the top position down; `exposure` (G,) is by group after the round, and `gap`
    is how far it misses the `shares` (G,), by the largest magnitude over pairs. No ranking that does as well by the
    demands before it has a gap below `gap_bound`, unless it is met, and `proof` is one of `PROOFS`.
    """

    template: Ints
    exposure: Floats
    shares: Floats
    gap: float
    gap_bound: float
    proof: str

    @staticmethod
    def of(template: Ints, exposure: Floats, shares: Floats, *, gap: float, tolerance: float, bound: float) -> Outcome:
        """The outcome of a gap that no ranking is below `bound` with."""
        bound = min(max(bound, 0.0), gap)
        if within(gap, tolerance):
            proof = FOUND
        elif is_least(gap, bound):
            proof, bound = LEAST, gap
        else:
            proof = UNPROVEN if within(bound, tolerance) else IMPOSSIBLE
        return Outcome(template, exposure, shares, gap, bound, proof)

    @property
    def met(self) -> bool:
        """Whether the gap is within the tolerance."""
        return self.proof == FOUND

    @property
    def unfairness(self) -> float | Floats:
        """After the round: signed for two groups, and a (G, G) matrix for more."""
        return signed_gaps(self.exposure, self.shares)


class BestRanking(NamedTuple):
    """What `best_ranking` found: `shown` (m,) document indices from the top down, and an `Outcome` for each demand.

    No ranking that does as well by all demands has less added regret than `regret_bound`. `exact`: whether that and
    the outcomes' bounds are reached, so that nothing is better.
    """

    shown: Ints
    added_regret: int
    exact: bool
    regret_bound: int
    outcomes: tuple[Outcome, ...]

    @property
    def qualified(self) -> bool:
        """Whether all demands are met."""
        return all(outcome.met for outcome in self.outcomes)

    @property
    def missed(self) -> Outcome | None:
        """The outcome of the first demand that is not met, if any."""
        return next((outcome for outcome in self.outcomes if not outcome.met), None)

    @property
    def proof(self) -> str:
        """What is proven of all demands together: one of `PROOFS`."""
        if self.missed is None:
            return FOUND
        if all(outcome.proof in (FOUND, LEAST) for outcome in self.outcomes):
            return LEAST
        return UNPROVEN if self.missed.proof == UNPROVEN else IMPOSSIBLE

    @property
    def gap_bound(self) -> float:
        """What the gap of the first demand that is not met is at least; if all are, the bound of the first."""
        return (self.missed or self.outcomes[0]).gap_bound


EXHAUSTIVE = 2.0**20
"""Lists of up to so many templates are all compared, whatever the effort."""

MOST_WORDS = 4_096
"""Most words of each of the two parts of a list with more templates, of which pairs are compared."""


def least_gaps(search: Search | RankingSearch, known: Ints, effort: int) -> tuple[Ints, Floats, Floats]:
    """A template (k,) of the least gaps found, demand by demand, these gaps (C,), and what they are at least (C,).

    `search` is one that found no list within all tolerances, and `known` some template of its round.
    """
    owed = search.owed
    finder = LeastGap(
        search.round, owed, search.exchanges, *_parts(np.asarray(search.round.P), owed, search.round.size)
    )
    finder.search(known, effort)
    gaps, is_met = np.array(finder.gap), np.asarray(finder.gap) <= np.asarray(owed.tolerance) + EPSILON
    bounds = np.where(is_met, 0.0, finder.bound)
    if search.impossible and not is_met.all():
        first = int(is_met.argmin())
        bounds[first] = max(bounds[first], nextafter(owed.tolerance[first] + EPSILON, inf))
    return np.array(finder.template), gaps, bounds


def _parts(curve: Floats, owed: Owed, sizes: Ints) -> tuple[Words, Words]:
    """The words of the two parts: of the whole list where all templates are compared, else of its last positions."""
    k, half = len(curve), len(curve) // 2
    counts = tuple(min(size, k) for size in np.asarray(sizes).tolist())
    upper, lower = curve[: k - half], curve[k - half :]
    if max(n_words(upper, counts), n_words(lower, counts)) > MOST_WORDS and n_words(curve, counts) > EXHAUSTIVE:
        length = 1
        while len(counts) ** (length + 1) <= MOST_WORDS and 2 * length + 2 <= k:
            length += 1
        upper, lower = curve[k - 2 * length : k - length], curve[k - length :]
    return _words(upper, owed, counts), _words(lower, owed, counts)


def n_words(curve: Floats, sizes: tuple[int, ...]) -> float:
    """In how many ways positions of this curve can go to classes of these sizes; positions of a flat one are alike.

    >>> n_words(np.array([1.0, 0.5, 0.3]), (3, 1)), n_words(np.ones(3), (3, 3))
    (4.0, 4.0)
    """
    length, flat = len(curve), len(set(curve.tolist())) < 2
    ways = np.zeros(length + 1)
    ways[0] = 1.0
    for size in sizes:
        each = [1.0 if flat else 1.0 / factorial(n) for n in range(min(size, length, 150) + 1)]
        ways = np.convolve(ways, each)[: length + 1]
    return float(np.round(ways[length] if flat else ways[length] * factorial(min(length, 150))))


def _words(curve: Floats, owed: Owed, sizes: tuple[int, ...]) -> Words:
    """The words for these positions. Where they are few enough with any number of a class, these are kept."""
    column, watched = np.asarray(owed.column), np.asarray(owed.watched).tolist()
    keys = watched[0], watched[-1]
    if len(sizes) ** len(curve) <= MOST_WORDS:
        return _all_words(curve.tobytes(), column.tobytes(), len(sizes), owed.n_columns, keys)
    return Words(curve, column, owed.n_columns, np.array(sizes), keys)


@lru_cache(maxsize=64)
def _all_words(curve: bytes, column: bytes, n_classes: int, n_columns: int, keys: tuple[int, int]) -> Words:
    positions, columns = np.frombuffer(curve), np.frombuffer(column, dtype=np.int64).reshape(n_classes, -1)
    return Words(positions, columns, n_columns, np.full(n_classes, len(positions)), keys)


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
        return self._coarseness * min(tolerance, self._most) + 2.0 * EPSILON

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


MAX_WORDS = 2_048
"""Most words over the classes in each of two halves; with more, halves are shorter than the list."""


def best_ranking(
    order: ArrayLike,
    demands: Sequence[Demand],
    certain_order: ArrayLike,
    *,
    exposure: ArrayLike,
    scope: str = "full",
    ties: str = "draw",
    effort: int = EFFORT,
    rng: np.random.Generator | None = None,
) -> BestRanking:
    """The ranking that meets every demand at the least added regret.

    Demands come in the order of their priority. If they cannot all be met, the gap of the first is within its tolerance
    if any ranking allows that, and else the least; given that, so is the second's; and so on. Among the rankings that
    do so the least added regret decides, and then `ties`: "draw" takes the one closest to the draw from the top down,
    "fairest" the smallest gap of the first demand, then the draw, or chance where `rng` is given. All else is as in
    `best_template`, but that the draw's order is kept among documents that no demand tells apart.

    >>> provider, kind = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    >>> even = {"spent": np.zeros(2), "shares": np.ones(2), "tolerance": 0.1}
    >>> best = best_ranking([0, 1, 2, 3], [Demand(provider, **even), Demand(kind, **even)],
    ...                     np.zeros((4, 4), dtype=bool), exposure=[1, 1])
    >>> best.shown, [outcome.gap for outcome in best.outcomes]
    (array([0, 3]), [0.0, 0.0])
    """
    curve, documents = as_curve(exposure), as_order(order)
    if len(demands) == 0:
        raise ArgumentError("demands", "none", "at least one")
    checked = [
        Demand(*as_owed(each.groups, each.spent, each.shares, n=len(documents)), check_tolerance(each.tolerance))
        for each in demands
    ]
    relation = as_relation(certain_order, len(documents)), np.arange(len(documents))
    rules = Rules(scope, ties, effort)
    return only(found_rankings(documents, checked, relation, curve[: len(documents)], rules, rng=rng))


def found_rankings(
    order: Ints,
    demands: Sequence[Demand],
    relation: tuple[Bools | Bytes, Ints],
    exposure: Floats,
    rules: Rules,
    *,
    parts: Sequence[float] = (1.0,),
    rng: np.random.Generator | None = None,
) -> Iterator[BestRanking | None]:
    """`best_ranking` without its checks: the best within each of `parts` of the tolerances, as they are asked for.

    Of a part that is not the last, None where no list was found within it. `relation` is `Belief.costs`, `exposure`
    (m,) has at most n entries.
    """
    if len(demands) == 1:
        yield from found_templates(order, demands[0], relation, exposure, rules, parts=parts, rng=rng)
        return
    for number, part in enumerate(parts, start=1):
        tighter = [each.within(part) for each in demands]
        yield _best_of_several(order, tighter, relation, exposure, rules, rng, last=number == len(parts))


def _best_of_several(
    order: Ints,
    demands: Sequence[Demand],
    relation: tuple[Bools | Bytes, Ints],
    exposure: Floats,
    rules: Rules,
    rng: np.random.Generator | None,
    *,
    last: bool,
) -> BestRanking | None:
    """The best ranking under more than one demand; None if none that meets all is found, but for the `last` try."""
    classes, members = _classes(demands)
    n_groups = tuple(len(each.shares) for each in demands)
    keys = tie_keys(rng if rules.fairest else None, len(members), len(exposure))
    effort, tolerances = Effort(PLAIN_NODES, rules.effort, 0, 0.0), np.array([each.tolerance for each in demands])
    idle = _idle(exposure.tobytes(), members.tobytes(), n_groups)
    try:
        search = idle.pop()
    except IndexError:
        search = _new_search(exposure.tobytes(), members, n_groups)
    search.begin(
        Draw(order, classes, *relation),
        Aim(np.zeros(len(members)), np.ones(len(members)), 0.0, rules.displayed_only, rules.fairest, keys),
        np.concatenate([each.spent for each in demands]),
        np.concatenate([each.shares for each in demands]),
        tolerances,
    )
    try:
        bounds = np.zeros(len(demands))
        if not search.within(effort):
            if not last:
                return None
            known, limits, bounds = least_gaps(search, classes[order[: len(exposure)]], rules.effort)
            search.around(np.maximum(limits, tolerances), known, effort)
        shown, regret, bound, exact = search.answer(), search.best.cost, search.bound, search.exact
    finally:
        idle.append(search)
    outcomes = tuple(outcome_of(shown, *each, exposure) for each in zip(demands, bounds.tolist(), strict=True))
    exact = exact and all(outcome.proof in (FOUND, LEAST) for outcome in outcomes)
    return BestRanking(shown, regret, exact, bound, outcomes)


def fairer_ranking(
    shown: Ints,
    drawn: Ints,
    draw: Ints,
    demands: Sequence[Demand],
    relation: tuple[Bools | Bytes, Ints],
    exposure: Floats,
    rules: Rules,
) -> BestRanking | None:
    """What showing a list (m,) comes to; None unless it meets all demands, with no larger gap than the `drawn` list.

    Added regret counts the orders of the `draw` that it reverses: of documents that are not in there none count.
    """
    outcomes = tuple(outcome_of(shown, each, 0.0, exposure) for each in demands)
    if not all(outcome.met for outcome in outcomes):
        return None
    for outcome, each in zip(outcomes, demands, strict=True):
        if not within(outcome.gap, outcome_of(drawn, each, 0.0, exposure).gap):
            return None
    regret = added_regret(shown, draw, relation, displayed_only=rules.displayed_only)
    return BestRanking(shown, regret, False, 0, outcomes)


def added_regret(shown: Ints, draw: Ints, relation: tuple[Bools | Bytes, Ints], *, displayed_only: bool) -> int:
    """What a list (m,) costs that reverses some orders of a draw, or passes over some of its documents.

    >>> certain = np.triu(np.ones((3, 3), dtype=bool), 1), np.arange(3)
    >>> [added_regret(np.array([2, 0]), np.arange(3), certain, displayed_only=only) for only in (False, True)]
    [2, 1]
    """
    costs, row = relation
    n, m = len(row), len(shown)
    place, at = np.full(n, n), np.full(n, m)
    place[draw], at[shown] = np.arange(len(draw)), np.arange(m)
    counted = shown[place[shown] < n]
    reversed_orders = (place[:, None] < place[counted]) & (at[:, None] > at[counted])
    if displayed_only:
        reversed_orders &= (at < m)[:, None]
    return int(costs[np.ix_(row, row[counted])].sum(where=reversed_orders, dtype=np.int64))


def outcome_of(shown: Ints, demand: Demand, bound: float, exposure: Floats) -> Outcome:
    """What showing these documents makes of a demand."""
    template = demand.groups[shown]
    after = demand.spent + amounts_by_group(template, exposure, len(demand.shares))
    gap = largest_gap(after, demand.shares)
    return Outcome.of(template, after, demand.shares, gap=gap, tolerance=demand.tolerance, bound=bound)


def _classes(demands: Sequence[Demand]) -> tuple[Ints, Ints]:
    """The class (n,) of each document, and the group of each class under each demand (m, C)."""
    classes, first = demands[0].groups, np.zeros(0, dtype=np.int64)
    for each in demands:
        _, first, classes = np.unique(classes * len(each.shares) + each.groups, return_index=True, return_inverse=True)
    return classes, np.stack([each.groups[first] for each in demands], axis=1)


@lru_cache(maxsize=64)
def _idle(exposure: bytes, members: bytes, n_groups: tuple[int, ...]) -> list[RankingSearch]:
    """Searches for this curve and these classes that nobody uses at the moment: each serves one thread at a time."""
    return []


def _new_search(exposure: bytes, members: Ints, n_groups: tuple[int, ...]) -> RankingSearch:
    """A search for this curve and these classes, with halves as long as there is room for their words."""
    curve, n_classes, length = np.frombuffer(exposure), len(members), 1
    while n_classes ** (length + 1) <= MAX_WORDS and 2 * length < len(curve):
        length += 1
    upper = min(length, (len(curve) + 1) // 2)
    lengths = (upper, min(length, len(curve) - upper))
    owed = Owed(curve, members, n_groups)
    beyond = sum(lengths) < len(curve) and n_states(len(curve), n_classes) <= MAX_STATES
    lattices = Lattice(upper, n_classes), Lattice(len(curve), n_classes) if beyond else None
    return RankingSearch(curve, owed, kept_reach(exposure), lengths, lattices)


def found_around(
    pinned: Mapping[int, int],
    order: Ints,
    demands: Sequence[Demand],
    relation: tuple[Bools | Bytes, Ints],
    exposure: Floats,
    rules: Rules,
    *,
    parts: Sequence[float],
) -> Iterator[BestRanking | None]:
    """`found_rankings` with the documents `pinned` by position at their places.

    They are charged, and leave the draw and the curve; orders between them and others do not count.
    """
    positions, documents = np.array(list(pinned)), np.array(list(pinned.values()))
    free = np.delete(np.arange(len(exposure)), positions)
    if len(free) == 0:
        for part in parts:
            outcomes = tuple(outcome_of(documents, each.within(part), inf, exposure) for each in demands)
            yield BestRanking(documents, added_regret=0, exact=True, regret_bound=0, outcomes=outcomes)
        return
    left = np.setdiff1d(order, documents)
    number = np.empty(len(order), dtype=np.int64)
    number[left] = np.arange(len(left))
    certain, row = relation
    found = found_rankings(
        number[order[~np.isin(order, documents)]],
        [_without(each, documents, exposure[positions], left) for each in demands],
        (certain, row[left]),
        exposure[free],
        rules,
        parts=parts,
    )
    for best in found:
        if best is None:
            yield None
            continue
        shown: Ints = np.empty(len(exposure), dtype=np.int64)
        shown[positions], shown[free] = documents, left[best.shown]
        outcomes = tuple(
            outcome._replace(template=each.groups[shown]) for outcome, each in zip(best.outcomes, demands, strict=True)
        )
        yield best._replace(shown=shown, outcomes=outcomes)


def placed(pinned: Mapping[int, int], order: Ints, length: int) -> Ints:
    """The first of an order (n,) in a list (m,) in which documents `pinned` by position have their place.

    >>> placed({1: 3}, np.array([0, 1, 2, 3]), 3)
    array([0, 3, 1])
    """
    if not pinned:
        return order[:length]
    positions, documents = np.array(list(pinned)), np.array(list(pinned.values()))
    free = np.delete(np.arange(length), positions)
    shown: Ints = np.empty(length, dtype=np.int64)
    shown[positions], shown[free] = documents, order[~np.isin(order, documents)][: len(free)]
    return shown


def _without(demand: Demand, pinned: Ints, exposure: Floats, left: Ints) -> Demand:
    """The demand on the documents that are left when pinned ones have had their exposure."""
    charged = amounts_by_group(demand.groups[pinned], exposure, len(demand.shares))
    return demand._replace(groups=demand.groups[left], spent=demand.spent + charged)
