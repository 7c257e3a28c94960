"""TopRank: layers of documents by the orders found so far, each layer shown in random order."""

from __future__ import annotations

from math import log

import numpy as np

from fairexp.arrays import Bools, Floats
from fairexp.kernels.bandits.orders import layers, net_orders
from fairexp.rankers.bandits.duels import Duels, ExchangeableBelief
from fairexp.rankers.bandits.orders import exchangeable
from fairexp.types import Query

FACTOR = 3.43
"""c in the test's bound sqrt(2 N ln(c sqrt(N) / delta)), as in published implementations. The formula that it is quoted
for, 4 sqrt(2 / pi) / erf(sqrt(2)), is 3.344: this is on the safe side."""


class TopRank(Duels):
    """Shuffles each layer uniformly, and tells its members apart by a sequential test of their clicks.

    j is certainly worse than i once the lead of i reaches sqrt(2 N ln(c sqrt(N) / delta)) after N duels inside a layer,
    with delta = 1 / `horizon`. Layers are peeled off: what has no better document left comes next. For any click model
    in which a click's probability is attraction times examination, and examination falls from the top and does not
    gain from better documents above, regret is O(K L / gap * log T) and O(sqrt(K^3 L T log T)).

    A layer is not wholly ordered against the next: a document has at least one better one in the layer above. So the
    belief's certain orders are those found and what follows from them, not all pairs between layers. Inside `FairExp`
    the layer's shuffle leaves documents exchangeable as `orders.exchangeable` says, and only those are
    compared; with orders found under templates alone that is all pairs of one group in a layer.

    >>> ranker = TopRank(1, length=2, seed=0)
    >>> query = Query(features=[[0.0], [0.0], [0.0]], query_id="q", document_ids=["a", "b", "c"])
    >>> for _ in range(200):
    ...     ranking = ranker.rank(query)
    ...     ranker.update(ranking, ranking.document_ids == "b")
    >>> ranker.rank(query).belief.block.tolist()
    [1, 0, 1]

    Lattimore, Kveton, Li and Szepesvari, "TopRank: a practical algorithm for online stochastic ranking", NeurIPS 2018.
    """

    def believe(self, query: Query, rng: np.random.Generator | None = None) -> ExchangeableBelief:
        tables, _ = self._look(query)
        better = tables["better"].copy()
        layer = layers(better)
        rng = self.stream.at(self.n_ranked) if rng is None else rng
        return ExchangeableBelief(
            scores=net_orders(better),
            draw=np.lexsort((rng.random(query.n_candidates), layer)),
            block=layer,
            above=better,
            classes=exchangeable(layer, better, self._groups(query)),
        )

    @property
    def least(self) -> float:
        return 2.0 * log(FACTOR * self.horizon)

    def _decided(self, lead: Floats, duels: Floats) -> Bools:
        counts = np.maximum(duels, 1.0)
        bound = np.sqrt(2.0 * counts * np.log(FACTOR * np.sqrt(counts) * self.horizon))
        return np.asarray(lead >= bound)
