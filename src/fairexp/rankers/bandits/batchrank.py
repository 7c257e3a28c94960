"""BatchRank: batches of documents for runs of positions, split as their click rates come apart."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fairexp.arrays import Bools, Floats, Ints
from fairexp.kernels.bandits.batches import count_batches, is_mixed, least_counted, smallest_counts
from fairexp.kernels.bandits.orders import filled, layers
from fairexp.kernels.bandits.rates import kl_bounds
from fairexp.query_memory import Field, QueryRecord
from fairexp.rankers.bandits.bounds import kl_budget
from fairexp.rankers.bandits.orders import add_orders, exchangeable
from fairexp.rankers.bandits.per_query import PerQuery, PlannedHost
from fairexp.remap import Remap
from fairexp.types import Belief, Query, Ranking


@dataclass(frozen=True, eq=False, kw_only=True)
class BatchBelief(Belief):
    """A belief with the batches (n,) that it draws from, the number of each and its stage, and who is due (n,)."""

    classes: Ints
    batch: Ints
    stage: Ints
    due: Bools


class BatchRank(PlannedHost):
    """Shows the least shown of each batch in random order, and splits it when click rates are certainly apart.

    A batch is a layer of the orders found so far. At stage l each of its documents is shown until it was counted
    n_l = ceil(16 * 4^l * ln `horizon`) times; only documents with the smallest count are counted, so counts stay within
    one of each other. Then, by Kullback-Leibler bounds with the budget ln T + 3 ln ln T, the batch is split after the
    largest number of documents that lie wholly above the rest; or else it loses those that lie wholly below its last
    position, and goes on with the next stage. A batch with as many documents as positions goes on too (the published
    text leaves it waiting). Regret is O(K^3 L log T / gap) under cascade and position-based models.

    The growth of stages, the factor 3 and the rate were not checked against the paper: experimental. It is slow: no
    order is found before n_0 counts, so give it few, frequent queries. A document that joins catches up in the first
    stage of the first batch, and starts any other anew; so do candidates that come and go.

    Inside `FairExp` each group has batches of its own: those of one group in a layer (`exchangeable`). Templates give
    all of them the same positions on average, so their rates may be compared, and those of other groups may not.

    Zoghi, Tunys, Ghavamzadeh, Kveton, Szepesvari and Wen, "Online learning to rank in stochastic click models", ICML
    2017.
    """

    fields: ClassVar = {
        "clicks": Field(),
        "counts": Field(),
        "stage": Field(np.int64),
        "batch": Field(np.int64),
        "better": Field(np.bool_, axes=2),
    }

    def needed(self, stage: int) -> int:
        """How often each document of a batch is counted at this stage.

        >>> [BatchRank(1, horizon=10_000).needed(stage) for stage in range(4)]
        [148, 590, 2358, 9432]
        """
        return max(ceil(16.0 * 4.0**stage * log(self.horizon)), 1)

    def believe(self, query: Query, rng: np.random.Generator | None = None) -> BatchBelief:
        tables, _ = self._look(query)
        better, counts, groups = tables["better"].copy(), tables["counts"], self._groups(query)
        layer = layers(better)
        classes = exchangeable(layer, better, groups)
        rng = self.stream.at(self.n_ranked) if rng is None else rng
        return BatchBelief(
            scores=tables["clicks"] / np.maximum(counts, 1.0) - layer,
            draw=self._drawn(layer, counts, groups, rng),
            block=layer,
            above=better,
            classes=classes,
            batch=tables["batch"].copy(),
            stage=tables["stage"].copy(),
            due=least_counted(classes, counts),
        )

    def _drawn(self, layer: Ints, counts: Floats, groups: Ints | None, rng: np.random.Generator) -> Ints:
        """The least shown of each layer that there is room for, in random order; under templates, of each group."""
        keys, others = rng.random((2, len(layer)))
        by_count = np.lexsort((keys, counts, layer))
        if groups is None:
            shown = by_count[: self.length]
            return np.concatenate([shown[np.lexsort((others[shown], layer[shown]))], by_count[self.length :]])
        # Which group comes when must not depend on who was shown how often.
        return filled(groups[np.lexsort((others, layer))], groups, by_count)

    def _notes(self, query: Query, belief: Belief) -> dict[str, NDArray[np.generic]]:
        assert isinstance(belief, BatchBelief)
        groups = self._groups(query)
        lists = np.zeros(query.n_candidates, dtype=np.int64) if groups is None else groups
        noted = {"classes": belief.classes, "batch": belief.batch, "stage": belief.stage, "due": belief.due}
        return {**noted, "layer": belief.block, "lists": lists}

    def _joined(self, record: QueryRecord, joined: Ints, ranking: Ranking) -> None:
        """Documents that were in different batches, or at different stages, begin one together."""
        rows = record.find(ranking.memory["documents"].tolist())
        classes = np.asarray(ranking.memory["classes"], dtype=np.int64)
        if not is_mixed(classes, rows, record.tables["batch"], record.tables["stage"]):
            return
        for each in np.unique(classes).tolist():
            members = rows[classes == each]
            batch, stage = record.tables["batch"][members], record.tables["stage"][members]
            if (batch != batch[0]).any() or (stage != stage[0]).any():
                _begin(record, members)

    def _learn(self, record: QueryRecord, rows: Ints, ranking: Ranking, clicks: Bools) -> None:
        own, noted = record.tables, ranking.memory
        classes, batch, stage = (np.asarray(noted[name], dtype=np.int64) for name in ("classes", "batch", "stage"))
        tally = (own["batch"], own["stage"], own["counts"], own["clicks"])
        due = np.asarray(noted["due"], dtype=np.bool_)
        tried = count_batches(rows, ranking.shown, clicks, due, (batch, stage), tally, self.needed(0))
        if len(tried) == 0:
            return
        smallest = smallest_counts(classes, rows, own["counts"])
        tried = tried[smallest[tried] >= self.needed(0)]
        for each in sorted(set(classes[tried].tolist())):
            members = np.flatnonzero((classes == each) & (rows >= 0))
            if smallest[members[0]] >= self.needed(int(own["stage"][rows[members[0]]])):
                layer, lists = np.asarray(noted["layer"]), np.asarray(noted["lists"])
                ahead = (layer < layer[members[0]]) & (lists == lists[members[0]])
                self._divide(record, rows[members], self.length - int(ahead.sum()))

    def _divide(self, record: QueryRecord, members: Ints, n_positions: int) -> None:
        """Split the batch of these rows, which has so many positions, or take it to its next stage."""
        tables = record.tables
        counts = tables["counts"][members]
        rates = tables["clicks"][members] / counts
        lower, upper = kl_bounds(rates, counts, kl_budget(self.horizon))
        found, n_above = splits(lower, upper, n_positions)
        orders = np.zeros_like(tables["better"])
        orders[np.ix_(members, members)] = found
        add_orders(tables["better"], orders)
        below = found.any(axis=0)
        stage = int(tables["stage"][members[0]])
        _begin(record, members[~below])
        _begin(record, members[below])
        if n_above == 0:
            tables["stage"][members[~below]] = stage + 1

    def _take_over(self, before: PerQuery, remap: Remap) -> None:
        super()._take_over(before, remap)
        if isinstance(before, BatchRank) and before.templated != self.templated:
            for record in self.queries.records.values():
                for name in ("batch", "stage", "counts", "clicks"):
                    record.tables[name][:] = 0


def splits(lower: Floats, upper: Floats, n_positions: int) -> tuple[Bools, int]:
    """The orders (n, n) by which a batch with these bounds comes apart, and after how many documents it splits.

    Without a split, documents that lie below the last position fall out: they stand below all that lie above them.

    >>> found, n_above = splits(np.array([0.1, 0.5, 0.2]), np.array([0.3, 0.9, 0.4]), 2)
    >>> n_above, found.sum(axis=1)
    (1, array([0, 2, 0]))
    """
    n = len(lower)
    found = np.zeros((n, n), dtype=np.bool_)
    order = np.argsort(-lower, kind="stable")
    highest_after = np.maximum.accumulate(upper[order][::-1])[::-1]
    n_positions = min(n_positions, n)
    n_splits = max(n_positions - 1, 0)
    apart = np.flatnonzero(lower[order][:n_splits] > highest_after[1 : n_splits + 1])
    if len(apart):
        n_above = int(apart[-1]) + 1
        found[np.ix_(order[:n_above], order[n_above:])] = True
        return found, n_above
    if n > n_positions > 0:
        last = lower[order[n_positions - 1]]
        found = (lower >= last)[:, None] & (upper < last)[None, :]
    return found, 0


def _begin(record: QueryRecord, rows: Ints) -> None:
    """A new batch of these rows, at stage 0."""
    if len(rows) == 0:
        return
    tables = record.tables
    tables["batch"][rows] = tables["batch"].max() + 1
    for name in ("stage", "counts", "clicks"):
        tables[name][rows] = 0
