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

Names are loaded when first used, so that importing the package costs little. `fairexp.rankers` has all rankers.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairexp.fairness.constraint import Constraint
    from fairexp.fairness.fairexp import FairExp
    from fairexp.fairness.ledger import Ledger
    from fairexp.prior import Prior
    from fairexp.ranker import Host, Ranker
    from fairexp.rankers.baselines.controls import RandomRanker
    from fairexp.rankers.baselines.fairco import FairCo
    from fairexp.rankers.pairrank.ranker import PairRank
    from fairexp.rankers.pdgd.ranker import PDGD
    from fairexp.reliability import Reliability
    from fairexp.types import Belief, Query, Ranking

__version__ = "0.1.0"

_HOMES = {
    "Belief": "types",
    "Constraint": "fairness.constraint",
    "FairCo": "rankers.baselines.fairco",
    "FairExp": "fairness.fairexp",
    "Host": "ranker",
    "Ledger": "fairness.ledger",
    "PDGD": "rankers.pdgd.ranker",
    "PairRank": "rankers.pairrank.ranker",
    "Prior": "prior",
    "Query": "types",
    "RandomRanker": "rankers.baselines.controls",
    "Ranker": "ranker",
    "Ranking": "types",
    "Reliability": "reliability",
}

__all__ = [
    "PDGD",
    "Belief",
    "Constraint",
    "FairCo",
    "FairExp",
    "Host",
    "Ledger",
    "PairRank",
    "Prior",
    "Query",
    "RandomRanker",
    "Ranker",
    "Ranking",
    "Reliability",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'fairexp' has no attribute {name!r}")
    value = getattr(import_module(f"fairexp.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
