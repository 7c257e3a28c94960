"""Online learning to rank that keeps the exposure of provider groups fair at every round.

The loop, in full:

>>> import numpy as np
>>> from fairexp import FairExp, PairRank, Query
>>> ranker = FairExp(PairRank(n_features=3, length=2), tolerance=0.5, beta=1.0, seed=7)
>>> query = Query(features=np.eye(3), groups=[0, 1, 1])
>>> for clicks in ([True, False], [False, True]):
...     ranking = ranker.rank(query)
...     ranker.update(ranking, clicks)
>>> abs(ranker.ledger.unfairness) <= 0.5
True

Names are loaded when first used, so that importing the package costs little.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairexp.fairness.constraint import Constraint
    from fairexp.fairness.fairco import FairCo
    from fairexp.fairness.fairexp import FairExp
    from fairexp.fairness.ledger import Ledger
    from fairexp.rankers.bandits.batchrank import BatchRank
    from fairexp.rankers.bandits.bubblerank import BubbleRank
    from fairexp.rankers.bandits.cascade_ucb import CascadeKLUCB, CascadeUCB1, DcmKLUCB
    from fairexp.rankers.bandits.linear_cascade import C3UCB, CascadeLinUCB
    from fairexp.rankers.bandits.ranked_bandits import RankedBandits
    from fairexp.rankers.bandits.recurrank import RecurRank
    from fairexp.rankers.bandits.toprank import TopRank
    from fairexp.rankers.bandits.unirank import UniRank
    from fairexp.rankers.base import Explorer, Ranker
    from fairexp.rankers.controls import FixedScores, Oracle, RandomRanker
    from fairexp.rankers.dbgd import DBGD
    from fairexp.rankers.pairrank import PairRank
    from fairexp.rankers.pdgd import PDGD
    from fairexp.types import Belief, Query, Ranking

__version__ = "0.1.0"

_HOMES = {
    "BatchRank": "rankers.bandits.batchrank",
    "Belief": "types",
    "BubbleRank": "rankers.bandits.bubblerank",
    "C3UCB": "rankers.bandits.linear_cascade",
    "CascadeKLUCB": "rankers.bandits.cascade_ucb",
    "CascadeLinUCB": "rankers.bandits.linear_cascade",
    "CascadeUCB1": "rankers.bandits.cascade_ucb",
    "Constraint": "fairness.constraint",
    "DBGD": "rankers.dbgd",
    "DcmKLUCB": "rankers.bandits.cascade_ucb",
    "Explorer": "rankers.base",
    "FairCo": "fairness.fairco",
    "FairExp": "fairness.fairexp",
    "FixedScores": "rankers.controls",
    "Ledger": "fairness.ledger",
    "Oracle": "rankers.controls",
    "PDGD": "rankers.pdgd",
    "PairRank": "rankers.pairrank",
    "Query": "types",
    "RandomRanker": "rankers.controls",
    "RankedBandits": "rankers.bandits.ranked_bandits",
    "Ranker": "rankers.base",
    "Ranking": "types",
    "RecurRank": "rankers.bandits.recurrank",
    "TopRank": "rankers.bandits.toprank",
    "UniRank": "rankers.bandits.unirank",
}

__all__ = [
    "C3UCB",
    "DBGD",
    "PDGD",
    "BatchRank",
    "Belief",
    "BubbleRank",
    "CascadeKLUCB",
    "CascadeLinUCB",
    "CascadeUCB1",
    "Constraint",
    "DcmKLUCB",
    "Explorer",
    "FairCo",
    "FairExp",
    "FixedScores",
    "Ledger",
    "Oracle",
    "PairRank",
    "Query",
    "RandomRanker",
    "RankedBandits",
    "Ranker",
    "Ranking",
    "RecurRank",
    "TopRank",
    "UniRank",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'fairexp' has no attribute {name!r}")
    value = getattr(import_module(f"fairexp.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
