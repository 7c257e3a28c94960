"""FARA: plans many lists at once, by quotas of exposure from a quadratic program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from fairexp.arrays import Floats, Ints, State
from fairexp.fairness.ledger import amounts_by_group
from fairexp.kernels.algebra.linear import top_documents
from fairexp.kernels.baselines.lists import template_list
from fairexp.kernels.baselines.quotas import quotas, vertical_lists
from fairexp.measures import FINAL_UF
from fairexp.query_memory import Field
from fairexp.ranker import Ranker, TradeOff
from fairexp.rankers.baselines.merit import EitherLevel, LevelArguments
from fairexp.rankers.baselines.unbiased_relevance import Memory
from fairexp.remap import Remap
from fairexp.types import Query, Ranking
from fairexp.validation import check_count, check_number

USED = -1
"""What stands in place of a planned list that was shown."""


class FARA(EitherLevel):
    """Plans `sessions` lists at once: quotas of exposure that end nearest to fair, spent from the top positions down.

    With `level` "item" each query has a plan of its own documents: quotas bring exposure nearest to being in
    proportion to estimated relevance, while at least 1 - `loss` of the best exposure-weighted relevance is kept. With
    "group" the plan is of groups, over all queries: quotas bring the groups' exposure nearest to being in proportion
    to `merit`, each group keeps at least 1 - `loss` of what relevance alone has given it so far, and a planned list is
    filled with the best documents of the groups that it names. A new plan is made when all lists were shown; they are
    shown in random order. Relevance and `merit` are as `FairCo` has them. The published method's floor for documents
    that were hardly ever shown is left out: relevance is learned across documents here.

    Yang, Xu, Wang and Ai, "FARA: future-aware ranking algorithm for fairness optimization", CIKM 2023.
    """

    trade_off = TradeOff("loss", (0.0, 0.25, 0.5, 0.75, 1.0))
    fair_to = "group exposure in total, planned ahead; also items of each query"
    needs = "position bias; merit by group, or it is estimated"
    own_measure = FINAL_UF

    def __init__(
        self, n_features: int, *, loss: float = 1.0, sessions: int = 100, **others: Unpack[LevelArguments]
    ) -> None:
        self.sessions = check_count("sessions", sessions)
        super().__init__(n_features, **others)
        self.loss = check_number("loss", loss, at_least=0.0, at_most=1.0)
        self._forget_plan()

    def _forget_plan(self) -> None:
        self._plan: Ints = np.full((self.sessions, len(self.exposure)), USED)
        self._preferred: Floats = np.zeros(self.n_groups)

    def _fields(self) -> Mapping[str, Field]:
        """A document's planned position in each list, from 1; 0 where it has none or the list was shown."""
        return {**super()._fields(), "plan": Field(np.int16, width=self.sessions)}

    def _choose(self, query: Query, scores: Floats, rng: np.random.Generator, memory: Memory) -> Ints:
        keys = rng.random(len(scores))
        by_relevance = top_documents(scores, keys, len(self.exposure))
        if self.by_item:
            return self._choose_items(query, scores, by_relevance, rng, memory)
        assert query.groups is not None
        curve = self.exposure[: len(by_relevance)]
        memory["preferred"] = amounts_by_group(query.groups[by_relevance], curve, self.n_groups)
        plan = self._plan
        if not (plan != USED).any():
            plan = memory["plan"] = self._planned_groups(self._preferred + memory["preferred"], rng)
        planned = int(np.argmax(plan[:, 0] != USED))
        memory["session"] = np.array(planned)
        return template_list(scores, keys, query.groups, plan[planned, : min(self.length, len(scores))])

    def _choose_items(
        self, query: Query, scores: Floats, by_relevance: Ints, rng: np.random.Generator, memory: Memory
    ) -> Ints:
        plan = self._look(query)["plan"]
        if not plan.any():
            plan = memory["plan"] = self._planned_items(query, scores, by_relevance, rng)
        planned = int(np.argmax(plan.any(axis=0)))
        memory["session"] = np.array(planned)
        chosen = np.flatnonzero(plan[:, planned])
        in_order = chosen[np.argsort(plan[chosen, planned])]
        others = by_relevance[~np.isin(by_relevance, in_order)]  # for documents that have gone since
        return np.concatenate([in_order, others])[: self.length].astype(np.int64)

    def _planned_groups(self, preferred: Floats, rng: np.random.Generator) -> Ints:
        """The group (sessions, k) of each position of the lists to come."""
        merits, total = self.merits(), self.sessions * float(self.exposure.sum())
        least = (1.0 - self.loss) * total * preferred / preferred.sum()
        quota = quotas(self.spent, merits, least, total, total, 0.0)
        lists = vertical_lists(quota, np.argsort(-merits), self.exposure, self.sessions, False)
        return lists[rng.permutation(self.sessions)]

    def _planned_items(
        self, query: Query, scores: Floats, by_relevance: Ints, rng: np.random.Generator
    ) -> NDArray[np.int16]:
        """The position (n, sessions) of each candidate in the lists to come, from 1; 0 where it is not shown."""
        received, merit, _ = self._standing(query, scores)
        curve = self.exposure[: len(by_relevance)]
        best = self.sessions * float(curve @ merit[by_relevance])
        total, most = self.sessions * float(curve.sum()), self.sessions * float(curve.max())
        quota = quotas(received, merit, np.zeros(len(merit)), most, total, (1.0 - self.loss) * best)
        lists = vertical_lists(quota, np.argsort(-merit), curve, self.sessions, True)[rng.permutation(self.sessions)]
        plan = np.zeros((len(merit), self.sessions), dtype=np.int16)
        plan[lists, np.arange(self.sessions)[:, None]] = np.arange(1, len(curve) + 1)
        return plan

    def _shown(self, ranking: Ranking) -> None:
        super()._shown(ranking)
        session = int(ranking.memory["session"])
        if not self.by_item:
            self._preferred = self._preferred + np.asarray(ranking.memory["preferred"], dtype=np.float64)
            self._plan = np.array(ranking.memory.get("plan", self._plan))
            self._plan[session] = USED
            return
        assert ranking.query_id is not None
        record = self.queries.records[ranking.query_id]
        if "plan" in ranking.memory:
            record.tables["plan"][:] = 0
            record.tables["plan"][record.find(ranking.memory["documents"].tolist())] = ranking.memory["plan"]
        record.tables["plan"][:, session] = 0

    def forget_account(self) -> None:
        super().forget_account()
        self._forget_plan()

    def _take_over_account(self, before: Ranker, remap: Remap) -> None:
        """What was planned by other parameters or for other groups is planned anew."""
        self._forget_plan()
        if isinstance(before, FARA) and before.sessions == self.sessions:
            super()._take_over_account(before, remap)
            self._preferred = remap.by_group(before._preferred)
        elif not self.by_item:
            super()._take_over_account(before, remap)

    def _state(self) -> State:
        return {**super()._state(), "plan": self._plan.copy(), "preferred": self._preferred.copy()}

    def _restore(self, arrays: State) -> None:
        super()._restore(arrays)
        self._plan = np.array(arrays["plan"], dtype=np.int64)
        self._preferred = np.array(arrays["preferred"], dtype=np.float64)
