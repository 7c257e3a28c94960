"""CascadeUCB1, CascadeKL-UCB and dcmKL-UCB: optimistic click rates per document, read off what users examined."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from fairexp.arrays import Bools, Floats, Ints
from fairexp.kernels.bandits.rates import count_examined, hoeffding_bounds, kl_bounds
from fairexp.query_memory import Field, QueryRecord
from fairexp.randomness import Seed
from fairexp.rankers.bandits.bounds import hoeffding_budget, kl_budget
from fairexp.rankers.bandits.orders import interval_belief
from fairexp.rankers.bandits.per_query import MAX_DOCUMENTS, MAX_QUERIES, PerQueryHost
from fairexp.rankers.bandits.rewards import Rewarded
from fairexp.types import Belief, Query, Ranking
from fairexp.validation import check_choice, check_count

OBSERVED = ("first_click", "last_click", "all")


def n_examined(clicks: Bools, observe: str) -> int:
    """How many positions count as examined: up to the first click, to the last, or all; all where there is no click.

    >>> [n_examined(np.array([False, True, True, False]), observe) for observe in OBSERVED]
    [2, 3, 4]
    """
    if observe == "all" or not clicks.any():
        return len(clicks)
    return int(clicks.argmax()) + 1 if observe == "first_click" else len(clicks) - int(clicks[::-1].argmax())


class ClickRates(Rewarded, PerQueryHost):
    """Shows documents by the upper bound of their click rate where they were examined; never examined ones first.

    In these click models an examined document is clicked with a probability of its own, wherever it stands and
    whatever else is shown. So its rate stays unbiased when templates move it, and all orders may be learned. With
    grades the rate is of rewards (`Rewarded`): documents are shown by worth, and regret is promised for clicks only.
    """

    fields: ClassVar = {"clicks": Field(), "views": Field()}
    observe = "first_click"

    def __init__(
        self,
        n_features: int,
        *,
        length: int = 10,
        top_grade: int = 1,
        max_queries: int = MAX_QUERIES,
        max_documents: int = MAX_DOCUMENTS,
        seed: Seed = None,
    ) -> None:
        super().__init__(n_features, length=length, max_queries=max_queries, max_documents=max_documents, seed=seed)
        self.top_grade = check_count("top_grade", top_grade)

    def believe(self, query: Query, rng: np.random.Generator | None = None) -> Belief:
        tables, rounds = self._look(query)
        views = np.asarray(tables["views"], dtype=np.float64)
        rates = tables["clicks"] / np.maximum(views, 1.0)
        lower, upper = self._bounds(rates, views, rounds)
        rng = self.stream.at(self.n_ranked) if rng is None else rng
        upper[views == 0.0] = np.inf
        return interval_belief(rates, lower, upper, rng)

    @abstractmethod
    def _bounds(self, rates: Floats, views: Floats, rounds: int) -> tuple[Floats, Floats]:
        """Lower and upper bounds (n,) after `rounds` rounds of this query."""

    def _reward(self, ranking: Ranking, rewards: Floats) -> None:
        self._teach(ranking, rewards)

    def _learn(self, record: QueryRecord, rows: Ints, ranking: Ranking, clicks: Floats) -> None:
        n, tables = n_examined(clicks > 0.0, self.observe), record.tables
        count_examined(rows, ranking.shown, clicks, n, tables["views"], tables["clicks"])


class CascadeUCB1(ClickRates):
    """Optimism by Hoeffding's bound under the cascade model: rate + sqrt(1.5 ln t / views).

    Users read from the top and leave with the first click; what stands below it was not examined. The expected number
    of rounds without a click grows as O((L - K) / gap * log T) beyond what the best list has.

    >>> ranker = CascadeUCB1(1, length=1, seed=0)
    >>> query = Query(features=[[0.0], [0.0]], query_id="q", document_ids=["a", "b"])
    >>> for _ in range(100):
    ...     ranking = ranker.rank(query)
    ...     ranker.update(ranking, ranking.document_ids == "b")
    >>> ranker.rank(query).document_ids.tolist()
    ['b']

    Kveton, Szepesvari, Wen and Ashkan, "Cascading bandits", ICML 2015.
    """

    def _bounds(self, rates: Floats, views: Floats, rounds: int) -> tuple[Floats, Floats]:
        return hoeffding_bounds(rates, views, hoeffding_budget(rounds))


class CascadeKLUCB(ClickRates):
    """Optimism by the Kullback-Leibler bound under the cascade model, with the budget ln t + 3 ln ln t.

    As `CascadeUCB1`, with intervals that are much narrower for rates near 0 or 1.

    Kveton, Szepesvari, Wen and Ashkan, "Cascading bandits", ICML 2015.
    """

    def _bounds(self, rates: Floats, views: Floats, rounds: int) -> tuple[Floats, Floats]:
        return kl_bounds(rates, views, kl_budget(rounds + 1))


class DcmKLUCB(CascadeKLUCB):
    """`CascadeKLUCB` for users who may click again: the dependent click model. Experimental.

    After a click at a position users leave with a probability of that position; it is taken to fall from the top down,
    so the best document stands on top. `observe` says what counts as examined: up to the "first_click" is unbiased;
    up to the "last_click", as published, is not (what was examined after it in vain is never counted, so documents
    further down look better than they are: .667 for a rate of .5 in the second of two places that nobody leaves);
    "all" is for users who read every list to its end.

    Katariya, Kveton, Szepesvari and Wen, "DCM bandits: learning to rank with multiple clicks", ICML 2016.
    """

    def __init__(
        self,
        n_features: int,
        *,
        length: int = 10,
        observe: str = "first_click",
        top_grade: int = 1,
        max_queries: int = MAX_QUERIES,
        max_documents: int = MAX_DOCUMENTS,
        seed: Seed = None,
    ) -> None:
        limits = {"max_queries": max_queries, "max_documents": max_documents}
        super().__init__(n_features, length=length, top_grade=top_grade, seed=seed, **limits)
        self.observe = check_choice("observe", observe, OBSERVED)
