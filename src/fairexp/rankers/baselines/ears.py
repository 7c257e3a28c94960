"""EARS: shuffles as much of the top of the list as costs hardly any clicks."""

from __future__ import annotations

from typing import Unpack

import numpy as np

from fairexp.arrays import Floats, Ints
from fairexp.kernels.algebra.linear import top_documents
from fairexp.kernels.baselines.lists import click_chances
from fairexp.measures import ITEM_UF
from fairexp.ranker import TradeOff
from fairexp.rankers.baselines.unbiased_relevance import LearnedRelevance, Memory, RelevanceArguments
from fairexp.types import Query
from fairexp.validation import check_number


class EARS(LearnedRelevance):
    """Ranks by estimated relevance, then shuffles the longest prefix that loses at most `loss` of the clicks by it.

    Clicks are expected as a cascade has them: users read from the top, click a document with the probability of its
    relevance (0 to 1) and leave; after one that they do not click they go on with probability `patience`. It is fair
    to documents that are about equally good, knows no groups and keeps no account. Relevance is as `FairCo` has it.

    Jeunen and Goethals, "Top-k contextual bandits with equity of exposure", RecSys 2021.
    """

    trade_off = TradeOff("loss", (0.0, 0.01, 0.02, 0.05, 0.1))
    fair_to = "item exposure in expectation, among items about equally good, per query"
    needs = "position bias; how patient users are"
    own_measure = ITEM_UF

    def __init__(
        self, n_features: int, *, loss: float = 0.02, patience: float = 0.9, **others: Unpack[RelevanceArguments]
    ) -> None:
        super().__init__(n_features, **others)
        self.loss = check_number("loss", loss, at_least=0.0, at_most=1.0)
        self.patience = check_number("patience", patience, above=0.0, at_most=1.0)

    def _choose(self, query: Query, scores: Floats, rng: np.random.Generator, memory: Memory) -> Ints:
        shown: Ints = top_documents(scores, rng.random(len(scores)), self.length)
        chances = click_chances(np.clip(scores[shown], 0.0, 1.0), self.patience)
        kept = chances >= (1.0 - self.loss) * chances[0]
        n_shuffled = len(kept) if kept.all() else int(np.argmin(kept))
        shown[:n_shuffled] = rng.permutation(shown[:n_shuffled])
        return shown
