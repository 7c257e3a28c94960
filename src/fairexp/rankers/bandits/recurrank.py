"""RecurRank: parts of a list, each tried out in its first position by an optimal design, and split again and again."""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fairexp.arrays import Bools, Floats, Ints
from fairexp.errors import StateError
from fairexp.kernels.bandits.batches import count_trials, is_unsettled, part_orders, with_trials
from fairexp.query_memory import Field, QueryRecord
from fairexp.randomness import Seed
from fairexp.rankers.bandits.design import fitted, trials
from fairexp.rankers.bandits.per_query import HORIZON, MAX_DOCUMENTS, MAX_QUERIES, PerQuery, PlannedHost
from fairexp.rankers.bandits.rewards import Rewarded
from fairexp.remap import Remap
from fairexp.types import Belief, Query, Ranking
from fairexp.validation import check_count

DROPPED = -1
"""The phase of a document that is certainly not among the best of its part."""

PLAN = ("first", "place", "phase", "quota")


@dataclass(eq=False)
class Plan:
    """Where each candidate (n,) stands.

    `first` is the first position of its part (from 1; 0 for a new document), `place` its place there, `phase` that of
    the part, `quota` how often it is to be tried in this phase, and `fresh` whether its counts start anew.
    """

    first: Ints
    place: Ints
    phase: Ints
    quota: Ints
    fresh: Bools


@dataclass(frozen=True, eq=False, kw_only=True)
class PlannedBelief(Belief):
    """A belief with the plan that it was drawn from."""

    plan: Plan


class RecurRank(Rewarded, PlannedHost):
    """Tries the documents of each part in its first position, as often as an optimal design says, and splits the part.

    A part owns a run of positions. In phase l its trials number 4^l d ln(2 n K l (l + 1) sqrt(T)) for d dimensions that
    its n documents span, divided exactly among the design's. Then least squares on those clicks alone scores all of
    them: with D = 2^-l, documents that trail the part's last position by 2 D are dropped, and the part is split
    wherever neighbours are 2 D apart. Regret is O~(K sqrt(d T log(L T))) for click rates linear in the features, under
    cascade and position-based models, in `horizon` = T rounds of one query.

    Clicks in one position differ by the document alone, whatever that position is worth. A part is a set of given
    documents, so each query has parts of its own; within one, features let documents learn from each other. Documents
    that join enter the last part and start its phase anew.

    What stands above a part does not depend on who is tried in it, so with grades (`Rewarded`) mean rewards compare as
    click rates do, and must be linear in the features instead of those.

    Inside `FairExp` each group has parts of its own. Which group stands where does not depend on the document that is
    tried, so the first shown of each part and group is tried at the same positions on average; scores are compared
    inside groups only.

    Li, Lattimore and Szepesvari, "Online learning to rank with features", ICML 2019.
    """

    relative_cost = 3.0
    fields: ClassVar = {
        "counts": Field(),
        "clicks": Field(),
        **{name: Field(np.int64) for name in PLAN},
    }

    def __init__(
        self,
        n_features: int,
        *,
        length: int = 10,
        horizon: int = HORIZON,
        top_grade: int = 1,
        max_queries: int = MAX_QUERIES,
        max_documents: int = MAX_DOCUMENTS,
        seed: Seed = None,
    ) -> None:
        limits = {"horizon": horizon, "max_queries": max_queries, "max_documents": max_documents}
        super().__init__(n_features, length=length, seed=seed, **limits)
        self.top_grade = check_count("top_grade", top_grade)
        self._n_positions = self.length  # a shorter list on request leaves the parts as they are

    def budget(self, phase: int, n_documents: int) -> float:
        """Trials of a phase for each dimension: 4^l ln(2 n K l (l + 1) sqrt(T)).

        >>> round(RecurRank(1, length=5).budget(1, 10), 2)
        39.61
        """
        return float(4.0**phase * log(2 * n_documents * self._n_positions * phase * (phase + 1) * sqrt(self.horizon)))

    def believe(self, query: Query, rng: np.random.Generator | None = None) -> PlannedBelief:
        tables, _ = self._look(query)
        n, groups = query.n_candidates, self._groups(query)
        rng = self.stream.at(self.n_ranked) if rng is None else rng
        plan = Plan(**{name: tables[name].copy() for name in PLAN}, fresh=np.zeros(n, dtype=np.bool_))
        lists = np.zeros(n, dtype=np.int64) if groups is None else groups
        keys, chances = rng.random((2, n))
        counts, clicks = tables["counts"], tables["clicks"]
        if is_unsettled(lists, plan.first, plan.phase, plan.quota, counts):
            for each in np.unique(lists).tolist():
                self._advance(plan, np.flatnonzero(lists == each), counts, clicks, query.features, keys)
        order = np.lexsort((plan.place, plan.first, plan.phase == DROPPED))
        scores, block, above = part_orders(order, lists, plan.first, plan.phase)
        trials_left = (plan.quota, counts, plan.fresh, chances)
        return PlannedBelief(
            scores=scores,
            draw=with_trials(order, lists, plan.first, plan.phase, *trials_left),
            block=block,
            above=above,
            plan=plan,
        )

    def _advance(
        self, plan: Plan, members: Ints, counts: Floats, clicks: Floats, features: Floats, keys: Floats
    ) -> None:
        """Bring the parts of one list up to date: new documents join, and phases that are done end."""
        new = members[plan.first[members] == 0]
        if len(new):
            plan.first[new] = max(int(plan.first[members].max()), 1)
            plan.place[new] = plan.place[members].max() + 1 + np.argsort(np.argsort(keys[new]))
            plan.phase[new] = 0
        active = members[plan.phase[members] != DROPPED]
        for first in np.unique(plan.first[active]).tolist():
            part = active[plan.first[active] == first]
            part = part[np.argsort(plan.place[part])]
            phase = int(plan.phase[part].max())
            if (plan.phase[part] != phase).any() or phase == 0:
                self._begin(plan, part, max(phase, 1), features)
            elif (counts[part] >= plan.quota[part]).all():
                scores = fitted(features[part], counts[part], clicks[part])
                self._divide(plan, part, scores, phase, features)

    def _begin(self, plan: Plan, part: Ints, phase: int, features: Floats) -> None:
        plan.phase[part] = phase
        plan.quota[part] = trials(features[part], self.budget(phase, len(part)))
        plan.fresh[part] = True

    def _divide(self, plan: Plan, part: Ints, scores: Floats, phase: int, features: Floats) -> None:
        """End a part's phase: sort it, drop what trails, split it, and begin the next phase of each piece."""
        first, places = int(plan.first[part[0]]), np.sort(plan.place[part])
        by_score = np.argsort(-scores, kind="stable")
        cuts, n_kept = pieces(scores[by_score], min(self._n_positions - first + 1, len(part)), 2.0 * 0.5**phase)
        ordered = part[by_score]
        plan.place[ordered] = places
        plan.phase[ordered[n_kept:]] = DROPPED
        for start, end in zip([0, *cuts], [*cuts, n_kept], strict=True):
            piece = ordered[start:end]
            plan.first[piece] = first + start
            self._begin(plan, piece, phase + 1, features)

    def _notes(self, query: Query, belief: Belief) -> dict[str, NDArray[np.generic]]:
        assert isinstance(belief, PlannedBelief)
        groups = self._groups(query)
        lists = np.zeros(query.n_candidates, dtype=np.int64) if groups is None else groups
        return {**{name: getattr(belief.plan, name) for name in (*PLAN, "fresh")}, "lists": lists}

    def _joined(self, record: QueryRecord, joined: Ints, ranking: Ranking) -> None:
        if not np.count_nonzero(ranking.memory["fresh"]):
            return  # the plan is as it was
        rows = record.find(ranking.memory["documents"].tolist())
        for name in PLAN:
            record.tables[name][rows] = ranking.memory[name]
        anew = rows[np.asarray(ranking.memory["fresh"], dtype=np.bool_)]
        record.tables["counts"][anew] = 0.0
        record.tables["clicks"][anew] = 0.0

    def _reward(self, ranking: Ranking, rewards: Floats) -> None:
        self._teach(ranking, rewards)

    def _learn(self, record: QueryRecord, rows: Ints, ranking: Ranking, clicks: Floats) -> None:
        own = record.tables
        lists, first, phase = (np.asarray(ranking.memory[name], np.int64) for name in ("lists", "first", "phase"))
        tally = (own["first"], own["phase"], own["counts"], own["clicks"])
        count_trials(rows, ranking.shown, clicks, lists, (first, phase), tally)

    def _take_over(self, before: PerQuery, remap: Remap) -> None:
        """Parts are of one length, and their trials of one set of features; units and order do not matter."""
        if self.length != before.length:
            raise StateError(f"ranker: parts of {before.length} positions cannot go on with {self.length}")
        if not np.array_equal(np.sort(remap.features), np.arange(remap.n_before)):
            raise StateError("ranker: trials that were divided by some features cannot go on with others")
        super()._take_over(before, remap)
        if isinstance(before, RecurRank) and before.templated != self.templated:
            for record in self.queries.records.values():
                for name in self.fields:
                    record.tables[name][:] = 0


def pieces(scores: Floats, n_positions: int, gap: float) -> tuple[list[int], int]:
    """Where falling `scores` (n,) are cut, and how many are kept: what trails the last position by `gap` is not.

    >>> pieces(np.array([0.9, 0.8, 0.2, 0.1, -0.4]), 3, 0.5)
    ([2], 4)
    """
    kept = scores[n_positions - 1] - scores < gap
    kept[:n_positions] = True
    n_kept = int(kept.sum())
    return (np.flatnonzero(scores[: n_kept - 1] - scores[1:n_kept] >= gap) + 1).tolist(), n_kept
