"""Ranked bandits: one bandit for each position, each learning what adds a click where those above it failed."""

from __future__ import annotations

from collections.abc import Mapping
from math import e, log, sqrt

import numpy as np

from fairexp.arrays import Bools, Floats, Ints
from fairexp.query_memory import Field, QueryRecord, Table
from fairexp.randomness import Seed
from fairexp.rankers.bandits.bounds import hoeffding_width
from fairexp.rankers.bandits.per_query import HORIZON, MAX_DOCUMENTS, MAX_QUERIES, PerQuery
from fairexp.remap import Remap
from fairexp.types import Query, Ranking
from fairexp.validation import check_choice, check_count

BANDITS = ("exp3", "ucb1")


class RankedBandits(PerQuery):
    """The bandit of each position proposes a document; one that stands above already is replaced by an unused one.

    A proposal earns 1 if it was shown and has the first click of the list, else 0; so a duplicate teaches 0. With
    `bandit="exp3"` the share of users who click at least once comes to (1 - 1 / e) of the best list's, less
    O(K sqrt(T L log L)) clicks in `horizon` = T rounds of one query, whatever users do; "ucb1" is quicker
    where users do not change, without that promise.

    It is no host for `FairExp`: what is known of a document is known of one position given those above it, so no order
    of two documents is ever certain, and there is no draw that could be read from the top in another order.

    Radlinski, Kleinberg and Joachims, "Learning diverse rankings with multi-armed bandits", ICML 2008.
    """

    def __init__(
        self,
        n_features: int,
        *,
        length: int = 10,
        bandit: str = "exp3",
        horizon: int = HORIZON,
        max_queries: int = MAX_QUERIES,
        max_documents: int = MAX_DOCUMENTS,
        seed: Seed = None,
    ) -> None:
        self.bandit = check_choice("bandit", bandit, BANDITS)
        super().__init__(n_features, length=length, max_queries=max_queries, max_documents=max_documents, seed=seed)
        self.horizon = check_count("horizon", horizon)

    def _fields(self) -> Mapping[str, Field]:
        """`gains` (n, K) are clicks, or the logarithms of Exp3's weights; `counts` (n, K) are proposals."""
        return {"gains": Field(width=self.length), "counts": Field(width=self.length)}

    def _take_over(self, before: PerQuery, remap: Remap) -> None:
        """Positions that were not there before know nothing."""
        super()._take_over(before, remap)
        for record in self.queries.records.values():
            for name, field in self.queries.fields.items():
                known, table = record.tables[name], field.empty(len(record.documents))
                width = min(known.shape[1], self.length)
                table[:, :width] = known[:, :width]
                record.tables[name] = table

    def mixing(self, n_documents: int) -> float:
        """Exp3's share of uniform exploration: min(1, sqrt(L ln L / ((e - 1) T)))."""
        return min(1.0, sqrt(n_documents * log(max(n_documents, 2)) / ((e - 1.0) * self.horizon)))

    def _rank(self, query: Query, rng: np.random.Generator) -> Ranking:
        tables, rounds = self._look(query)
        n = query.n_candidates
        m = min(self.length, n)
        proposed, chances = self._proposals(tables, rounds, m, rng)
        spare = rng.permutation(n).tolist()
        shown: list[int] = []
        for document in proposed.tolist():
            if document in shown:
                later = set(shown)
                document = next(each for each in spare if each not in later)
            shown.append(document)
        values = tables["gains"][:, 0] if n else np.zeros(0)
        memory = {**self._noted(query), "proposed": proposed, "chances": chances}
        return self._show(query, np.array(shown, dtype=np.int64), np.array(values, dtype=np.float64), memory=memory)

    def _proposals(
        self, tables: dict[str, Table], rounds: int, m: int, rng: np.random.Generator
    ) -> tuple[Ints, Floats]:
        """The document that each of the first `m` positions proposes (m,), and with which probability (m,)."""
        gains, counts = tables["gains"][:, :m], tables["counts"][:, :m]
        if self.bandit == "ucb1":
            index = gains / np.maximum(counts, 1.0) + hoeffding_width(counts, rounds)
            keys = rng.random(index.shape)
            best = np.where(index == index.max(axis=0), keys, -1.0).argmax(axis=0)
            return best, np.ones(m)
        weights = np.exp(gains - gains.max(axis=0))
        gamma = self.mixing(len(gains))
        chances = (1.0 - gamma) * weights / weights.sum(axis=0) + gamma / len(gains)
        sums = np.cumsum(chances, axis=0)
        chosen = np.minimum((sums < rng.random(m) * sums[-1]).sum(axis=0), len(gains) - 1)
        return chosen, chances[chosen, np.arange(m)]

    def _learn(self, record: QueryRecord, rows: Ints, ranking: Ranking, clicks: Bools) -> None:
        proposed = np.asarray(ranking.memory["proposed"])
        slots = np.flatnonzero(rows[proposed] >= 0)
        own = rows[proposed[slots]]
        record.tables["counts"][own, slots] += 1.0
        if not clicks.any():
            return
        first = int(np.argmax(clicks))
        row = rows[proposed[first]]
        if row < 0 or ranking.shown[first] != proposed[first]:
            return
        gain = 1.0
        if self.bandit == "exp3":
            gain = self.mixing(len(rows)) / (float(ranking.memory["chances"][first]) * len(rows))
        record.tables["gains"][row, first] += gain
