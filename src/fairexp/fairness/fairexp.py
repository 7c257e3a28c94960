"""FairExp: exposure kept fair at every round, around a host ranker that goes on learning."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf, prod
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairexp.arrays import Bools, Floats, Ints, State, fits_records
from fairexp.errors import ArgumentError, ToleranceWarning
from fairexp.fairness.constraint import GROUPS, Account, Constraint, check_constraints
from fairexp.fairness.exposure import curve_name, exposure_curve
from fairexp.fairness.fairswap import check_templates, fair_swap
from fairexp.fairness.feasibility import coarse_curve
from fairexp.fairness.ledger import Ledger
from fairexp.fairness.search import (
    AIM,
    EFFORT,
    BestRanking,
    Demand,
    Rules,
    fairer_ranking,
    found_around,
    found_rankings,
    placed,
)
from fairexp.kernels.bandits.orders import filled
from fairexp.measures import MAX_UF
from fairexp.randomness import Seed
from fairexp.ranker import Host, HostWrapper, Ranker, TradeOff
from fairexp.remap import Remap
from fairexp.types import Belief, Query, Ranking
from fairexp.validation import as_measured, check_choice, check_number

Documents = TypeVar("Documents", Query, Ranking)
SEARCHES = ("exact", "fairswap")

OWN = "fairness."
"""How keys of a ranking's memory begin that are not its host's."""

LIFT = 0.125
"""The score that a unit of the fairness budget lifts the group furthest behind by when a wide tolerance is used up."""


class FairExp(HostWrapper):
    """Keeps exposure fair after every list, around a host ranker that goes on learning.

    Of the lists within tolerance it shows the one that contradicts the host least. If it finds none, it shows the
    least unfair list that it finds, and `Ranking.proof` says what is proven (see `fairexp.fairness.PROOFS`).

    Documents that a query has pinned stay at their positions and are charged like others. Orders between them and the
    rest do not count, and clicks on them teach nothing, because the host did not choose them.

    Args:
        host: Any ranker with an explicit belief, such as `PairRank`.
        tolerance: The largest exposure gap allowed between any two groups, in exposures of the top position.
        beta: How much exposure group 0 should get for each unit of group 1: `shares` for two groups.
        shares: The target share of each group, or a rule that estimates them.
        constraints: Several kinds of fairness, the most important first, instead of tolerance, beta and shares. If not
            all can be kept, the first is kept if possible or missed by least; then the second among what remains; and
            so on. Added regret decides last.
        exposure: The attention that each position gets: a name, a file, or one number for each position.
        fairness_budget: How many certain orders a list may reverse, for as many candidates as it shows, to come within
            a tenth of the tolerance. More candidates allow more. Beyond a tolerance of a tenth of the top position the
            budget falls with the square of the tolerance. With a tolerance wider than the top position's exposure,
            documents of the group that is behind get a score bonus instead, up to an eighth of the budget: this
            corrects the gap while that is cheap. With 0, and around hosts that give no prices of orders
            (`Belief.regret`), only the tolerance counts, as in the paper: a draw within tolerance is then shown
            unchanged.
        search: "exact" finds the least added regret of all lists that keep the draw's order inside groups. "fairswap"
            is the paper's procedure, which sometimes costs more; it takes one constraint and no pins.
        ties: How equals are settled: "draw" takes the list closest to the host's draw, "fairest" the smallest gap.
            With an infinite tolerance and "draw", every list is the host's own.
        scope: Which orders count: "full" counts those with documents that are not shown too, "displayed" does not.
        effort: Steps of the search for each list; more may find a cheaper list.
        seed: The seed of all random numbers.

    >>> from fairexp import FairExp, PairRank, Query
    >>> ranker = FairExp(PairRank(n_features=2, length=3), tolerance=0.2, beta=1.0, seed=7)
    >>> query = Query(features=np.eye(4)[:, :2], groups=[0, 0, 1, 1])
    >>> ranking = ranker.rank(query)
    >>> sorted(ranking.template), ranking.qualified, round(abs(ranker.ledger.unfairness), 3)
    ([np.int64(0), np.int64(1), np.int64(1)], True, 0.167)
    >>> ranker.update(ranking, clicks=[False, True, False])

    Y. Jia and H. Wang, Calibrating Explore-Exploit Trade-off for Fair Online Learning to Rank, 2021.
    """

    keeps_account = True
    keeps_tolerance = True
    keeps_pins = True
    trade_off = TradeOff("tolerance", (0.01, 0.1, 1.0, 5.0, 20.0, 100.0, 500.0))
    fair_to = "group exposure in total, at every round; also of each query, by constraints"
    needs = "position bias; shares by group, or they are estimated"
    own_measure = MAX_UF
    paper_settings: ClassVar[Mapping[str, Any]] = {"tolerance": 0.1, "fairness_budget": 0.0, "search": "fairswap"}
    """The parameters of the paper, beside those of its host (`PairRank.paper_settings`)."""

    relative_cost = 1.0
    """What it adds to its host's; a ranker's own is the sum."""

    def __init__(
        self,
        host: Host,
        *,
        tolerance: float | None = None,
        beta: float | None = None,
        shares: ArrayLike | str | None = None,
        constraints: Sequence[Constraint] | None = None,
        exposure: str | ArrayLike = "reciprocal",
        fairness_budget: float = 4.0,
        search: str = "exact",
        ties: str = "draw",
        scope: str = "full",
        effort: int = EFFORT,
        seed: Seed = None,
    ) -> None:
        super().__init__(host, seed=seed)
        self.constraints = _constraints(tolerance, beta, shares, constraints)
        host.templated = any(each.tolerance < inf for each in self.constraints)
        self.accounts = tuple(
            Account(constraint, self.n_features, prefix=f"{OWN}{number}.")
            for number, constraint in enumerate(self.constraints)
        )
        self._told_apart_by_groups = len(self.constraints) == 1 and self.constraints[0].attributes == (GROUPS,)
        self.needs_query_id = host.needs_query_id or any(each.per == "query" for each in self.constraints)
        self.exposure: Floats = exposure_curve(exposure, self.length)
        self.fairness_budget = check_number("fairness_budget", fairness_budget, at_least=0.0)
        self.search = check_choice("search", search, SEARCHES)
        self.keeps_pins = search == "exact"
        if search == "fairswap":
            if len(self.constraints) > 1:
                raise ArgumentError("search", "'fairswap' with several constraints", "one", "Use search='exact'.")
            check_templates(self.constraints[0].n_cells, self.length)
        self.rules = Rules(scope, ties, effort)
        self.scope, self.ties, self.effort = scope, ties, self.rules.effort
        self._warn_of_coarse_grid()

    @classmethod
    def paper(cls, host: Host, **parameters: Any) -> Self:
        """FairExp with `paper_settings` around `host`; `parameters` are further ones, or replace some.

        >>> from fairexp import PairRank
        >>> ranker = FairExp.paper(PairRank.paper(3, alpha=0.01), beta=1.22)
        >>> ranker.search, ranker.host.alpha
        ('fairswap', 0.01)
        """
        return cls(host, **{**cls.paper_settings, **parameters})

    @property
    def tolerance(self) -> float:
        """The first constraint's."""
        return self.constraints[0].tolerance

    @property
    def ledger(self) -> Ledger:
        """The first constraint's; where it keeps several, the one that was charged last."""
        return self.accounts[0].ledger

    def update(
        self,
        ranking: Ranking,
        clicks: ArrayLike,
        *,
        grades: ArrayLike | None = None,
        measured: ArrayLike | None = None,
    ) -> None:
        """Learn from `clicks`; `measured` (m,) exposure by shown position replaces what was projected for it.

        It is in the units of `ranking.exposure`, which has the query's weight in it.
        """
        if measured is None:
            super().update(ranking, clicks, grades=grades)
            return
        self._check_ours(ranking)
        amounts = as_measured(measured, len(ranking))
        super().update(replace(ranking, exposure=amounts), clicks, grades=grades)
        self._measure(ranking, amounts)

    def _measure(self, ranking: Ranking, measured: Floats) -> None:
        for account in self.accounts:
            account.replace(ranking, measured)

    def _check_query(self, query: Query) -> None:
        super()._check_query(query)
        for constraint in self.constraints:
            constraint.check(query)
        n_shown = min(self.length, query.n_candidates)
        if query.pinned and max(query.pinned) >= n_shown:
            raise ArgumentError("query.pinned", query.pinned, f"positions below {n_shown}, as many as are shown")

    def _rank(self, query: Query, rng: np.random.Generator) -> Ranking:
        asked, weight = self._for_host(query), query.weight
        belief = self.host.believe(asked, rng)
        exposure = self.exposure[: min(self.length, query.n_candidates)]
        demands = [account.demand(query) for account in self.accounts]
        if self.search == "fairswap" and self.host.templated:
            best = fair_swap(belief, demands[0], exposure, self.rules, keys=rng.random(query.n_candidates))
        else:
            best = self._find(query, belief, demands, exposure)
        shown = best.shown
        if belief.fill is not None:
            assert asked.groups is not None
            shown = filled(asked.groups[shown], asked.groups, belief.fill)
            belief = replace(belief, draw=filled(asked.groups[belief.draw], asked.groups, belief.fill))
        memory = self.host.memory(asked, belief, shown, rng)
        gaps, met = {}, {}
        for account, demand, outcome in zip(self.accounts, demands, best.outcomes, strict=True):
            gaps[account.constraint.name], met[account.constraint.name] = outcome.gap * weight, outcome.met
            if account.remembers:
                memory.update(account.memory(query, demand.groups))
        return self._show(
            query,
            shown,
            belief.scores,
            belief=belief,
            memory=memory,
            exposure=exposure if weight == 1.0 else exposure * weight,
            unfairness=best.outcomes[0].unfairness * weight,
            added_regret=belief.in_orders(best.added_regret),
            qualified=all(met.values()),
            proof=best.proof,
            gap_bound=best.gap_bound * weight,
            pinned=_pinned_positions(query, len(shown)) if query.pinned else None,
            gaps=gaps,
            met=met,
        )

    def _find(self, query: Query, belief: Belief, demands: Sequence[Demand], exposure: Floats) -> BestRanking:
        """The best ranking within the tolerance, or a fairer one that costs hardly more."""
        asked, budget = (demands, belief.costs, exposure, self.rules), 0.0
        if self.fairness_budget > 0.0 and belief.regret is not None:
            top = max(self.exposure.tolist())
            lifted = self._lifted(query, belief, demands, top)
            if lifted is not None:
                shown, drawn = (placed(query.pinned, order, len(exposure)) for order in (lifted, belief.draw))
                draw = belief.draw[~np.isin(belief.draw, list(query.pinned.values()))] if query.pinned else belief.draw
                fairer = fairer_ranking(shown, drawn, draw, *asked)
                if fairer is not None:
                    return fairer
            budget = demands[0].aim(top) * self.fairness_budget * query.n_candidates / len(exposure)
        parts = (AIM, 1.0) if budget > 0.0 else (1.0,)
        if query.pinned:
            found = found_around(query.pinned, belief.draw, *asked, parts=parts)
        else:
            found = found_rankings(belief.draw, *asked, parts=parts)
        close = next(found)
        if close is not None and (budget == 0.0 or belief.in_orders(close.added_regret) <= budget):
            return close  # whatever the tolerance allows, it saves no more than that
        best = next(found)
        assert best is not None
        if close is None or (best.qualified and belief.in_orders(close.added_regret - best.added_regret) > budget):
            return best
        return close

    def _lifted(self, query: Query, belief: Belief, demands: Sequence[Demand], top: float) -> Ints | None:
        """The draw once groups that are behind within wide tolerances are lifted; None where none is."""
        lifts = [(each.groups, lift) for each in demands if (lift := each.lift(top)) is not None]
        if not lifts:
            return None
        worth = belief.drawn_scores + self.fairness_budget * LIFT * sum(lift[groups] for groups, lift in lifts)
        order: Ints = belief.draw[np.argsort(-worth[belief.draw], kind="stable")]
        return order

    def _shown(self, ranking: Ranking) -> None:
        for account in self.accounts:
            account.charge(ranking)
        self.host.note(self._for_host(self._chosen(ranking)))

    def _copied(self) -> Self:
        after = super()._copied()
        after.accounts = tuple(account.copied() for account in self.accounts)
        return after

    def _update(self, ranking: Ranking, clicks: Bools) -> None:
        chosen = self._chosen(ranking)
        if len(chosen):
            clicks = clicks if ranking.pinned is None else clicks[~ranking.pinned]
            self.host.learn(self._for_host(chosen), clicks)
            for account in self.accounts:
                if account.shares.learns:
                    account.learn(chosen, clicks)

    def _update_graded(self, ranking: Ranking, grades: Ints) -> None:
        chosen = self._chosen(ranking)
        if len(chosen):
            grades = grades if ranking.pinned is None else grades[~ranking.pinned]
            self.host.learn_graded(self._for_host(chosen), grades)
            for account in self.accounts:
                if account.shares.learns:
                    account.learn(chosen, grades > 0)

    def _for_host(self, documents: Documents) -> Documents:
        """A query or ranking as the host sees it: its groups are what templates tell apart.

        Those are the combinations of all constraints' groups, and a group of its own for each pinned candidate. Where
        no constraint has a limit, templates tell only pinned candidates from others.
        """
        pinned = documents.pinned if isinstance(documents, Query) else None
        if not pinned and (self._told_apart_by_groups or not self.host.templated):
            return documents
        constraints = self.constraints if self.host.templated else ()
        if isinstance(documents, Ranking) and not all(constraint.knows(documents) for constraint in constraints):
            return documents
        classes = np.zeros(len(documents.features), dtype=np.int64)
        for constraint in constraints:
            classes = classes * constraint.n_cells + constraint.groups_of(documents)
        if pinned:
            n_classes = prod(constraint.n_cells for constraint in constraints)
            classes[list(pinned.values())] = n_classes + np.arange(len(pinned))
        return replace(documents, groups=classes)

    def _chosen(self, ranking: Ranking) -> Ranking:
        """The ranking without its pinned positions."""
        if ranking.pinned is None:
            return ranking
        chosen = ranking.without(np.flatnonzero(ranking.pinned).tolist())
        return chosen if self.host.remembers_positions else replace(chosen, memory=ranking.memory)

    def account(self) -> Floats:
        return self.accounts[0].exposure

    def target_shares(self) -> Floats | None:
        between_groups = (each.owed for each in self.constraints if each.attributes == (GROUPS,))
        return next((owed for owed in between_groups if not isinstance(owed, str)), None)

    def held_to(self) -> float | None:
        return self.tolerance if len(self.constraints) == 1 and self.constraints[0].is_plain else None

    def parameters(self) -> dict[str, Any]:
        """The arguments that build it; one constraint of the usual kind as tolerance and shares."""
        first = self.constraints[0]
        plain = len(self.constraints) == 1 and first.is_plain
        equal = plain and np.array_equal(first.owed, [1.0, 1.0])
        return {
            "host": self.host,
            "tolerance": first.tolerance if plain else None,
            "beta": None,
            "shares": first.owed if plain and not equal else None,
            "constraints": None if plain else self.constraints,
            "exposure": curve_name(self.exposure),
            "fairness_budget": self.fairness_budget,
            "search": self.search,
            "ties": self.ties,
            "scope": self.scope,
            "effort": self.effort,
        }

    def forget_account(self) -> None:
        for account in self.accounts:
            account.forget()

    def _take_over_account(self, before: Ranker, remap: Remap) -> None:
        if isinstance(before, FairExp):
            known = {account.constraint.name: account for account in before.accounts}
            for account in self.accounts:
                if account.constraint.name in known:
                    account.take_over(known[account.constraint.name], remap)

    def translated_memory(
        self, memory: Mapping[str, NDArray[np.generic]], remap: Remap
    ) -> Mapping[str, NDArray[np.generic]]:
        own = {key: value for key, value in memory.items() if key.startswith(OWN)}
        return {**super().translated_memory(memory, remap), **own}

    def _state(self) -> State:
        own = super()._state()
        for number, account in enumerate(self.accounts):
            own.update({f"constraint.{number}.{key}": value for key, value in account.state().items()})
        return own

    def _checked_state(self, arrays: State) -> State:
        own = super()._checked_state(arrays)
        for number, account in enumerate(self.accounts):
            account.check(_part(own, f"constraint.{number}."))
        return own

    def fits(self, key: str, value: NDArray[np.generic], expected: NDArray[np.generic]) -> bool:
        if key.startswith("constraint.") and ".ledgers." in key:
            return fits_records(value, expected)
        return super().fits(key, value, expected)

    def _restore(self, arrays: State) -> None:
        super()._restore(arrays)
        for number, account in enumerate(self.accounts):
            account.restore(_part(arrays, f"constraint.{number}."))

    def _warn_of_coarse_grid(self) -> None:
        first = self.constraints[0]
        if first.n_cells != 2 or isinstance(first.owed, str):  # of more groups it must be played, which takes a while
            return
        told = coarse_curve(self.exposure, first.owed, self.tolerance)
        if told is not None:
            warnings.warn(told, ToleranceWarning, stacklevel=3)


def _constraints(
    tolerance: float | None, beta: float | None, shares: ArrayLike | str | None, several: Sequence[Constraint] | None
) -> tuple[Constraint, ...]:
    """The constraints, or the one that the short form stands for."""
    if several is None:
        if tolerance is None:
            raise ArgumentError("tolerance", "None", "a number, or `constraints`")
        return (Constraint(tolerance, beta=beta, shares=shares),)
    for name, value in (("tolerance", tolerance), ("beta", beta), ("shares", shares)):
        if value is not None:
            raise ArgumentError(name, repr(value), "None where there are `constraints`, which have their own")
    return check_constraints(several)


def _pinned_positions(query: Query, n_shown: int) -> Bools:
    pinned = np.zeros(n_shown, dtype=np.bool_)
    pinned[list(query.pinned)] = True
    return pinned


def _part(arrays: Mapping[str, NDArray[np.generic]], start: str) -> State:
    return {key.removeprefix(start): value for key, value in arrays.items() if key.startswith(start)}
