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
    from fairexp.fairness.fairexp import FairExp
    from fairexp.fairness.ledger import Ledger
    from fairexp.prior import Prior
    from fairexp.ranker import Host, Ranker
    from fairexp.rankers.bandits.batchrank import BatchRank
    from fairexp.rankers.bandits.bubblerank import BubbleRank
    from fairexp.rankers.bandits.cascade_ucb import CascadeKLUCB, CascadeUCB1, DcmKLUCB
    from fairexp.rankers.bandits.linear_cascade import C3UCB, CascadeLinUCB
    from fairexp.rankers.bandits.ranked_bandits import RankedBandits
    from fairexp.rankers.bandits.recurrank import RecurRank
    from fairexp.rankers.bandits.toprank import TopRank
    from fairexp.rankers.bandits.unirank import UniRank
    from fairexp.rankers.baselines.controls import FixedScores, Oracle, RandomRanker
    from fairexp.rankers.baselines.ears import EARS
    from fairexp.rankers.baselines.fairco import FairCo
    from fairexp.rankers.baselines.fara import FARA
    from fairexp.rankers.baselines.lp_fair import LPFair
    from fairexp.rankers.baselines.mcfair import MCFair
    from fairexp.rankers.baselines.mmf import MMF
    from fairexp.rankers.baselines.offr import OFFR
    from fairexp.rankers.baselines.offr_around import OFFRAround
    from fairexp.rankers.baselines.p_mmf import PMMF
    from fairexp.rankers.baselines.xquad import XQuAD
    from fairexp.rankers.gradient.cascade import CMGD
    from fairexp.rankers.gradient.cps import CPS
    from fairexp.rankers.gradient.dbgd import DBGD
    from fairexp.rankers.gradient.dsp import DSP
    from fairexp.rankers.gradient.dual_point import DPDBGD
    from fairexp.rankers.gradient.mgd import MGD, PMGD
    from fairexp.rankers.gradient.multi_point import MPDGD
    from fairexp.rankers.gradient.nsgd import NSGD
    from fairexp.rankers.gradient.similarity import SimMGD
    from fairexp.rankers.pairrank.ranker import PairRank
    from fairexp.rankers.pdgd.neural import NeuralPDGD
    from fairexp.rankers.pdgd.ranker import PDGD
    from fairexp.reliability import Reliability
    from fairexp.types import Belief, Query, Ranking

__version__ = "0.1.0"

_HOMES = {
    "BatchRank": "rankers.bandits.batchrank",
    "Belief": "types",
    "BubbleRank": "rankers.bandits.bubblerank",
    "C3UCB": "rankers.bandits.linear_cascade",
    "CMGD": "rankers.gradient.cascade",
    "CPS": "rankers.gradient.cps",
    "CascadeKLUCB": "rankers.bandits.cascade_ucb",
    "CascadeLinUCB": "rankers.bandits.linear_cascade",
    "CascadeUCB1": "rankers.bandits.cascade_ucb",
    "Constraint": "fairness.constraint",
    "DBGD": "rankers.gradient.dbgd",
    "DPDBGD": "rankers.gradient.dual_point",
    "DSP": "rankers.gradient.dsp",
    "DcmKLUCB": "rankers.bandits.cascade_ucb",
    "EARS": "rankers.baselines.ears",
    "Host": "ranker",
    "FARA": "rankers.baselines.fara",
    "FairCo": "rankers.baselines.fairco",
    "FairExp": "fairness.fairexp",
    "FixedScores": "rankers.baselines.controls",
    "LPFair": "rankers.baselines.lp_fair",
    "Ledger": "fairness.ledger",
    "MCFair": "rankers.baselines.mcfair",
    "MGD": "rankers.gradient.mgd",
    "MMF": "rankers.baselines.mmf",
    "MPDGD": "rankers.gradient.multi_point",
    "NSGD": "rankers.gradient.nsgd",
    "NeuralPDGD": "rankers.pdgd.neural",
    "OFFR": "rankers.baselines.offr",
    "OFFRAround": "rankers.baselines.offr_around",
    "Oracle": "rankers.baselines.controls",
    "PDGD": "rankers.pdgd.ranker",
    "PMGD": "rankers.gradient.mgd",
    "PMMF": "rankers.baselines.p_mmf",
    "PairRank": "rankers.pairrank.ranker",
    "Prior": "prior",
    "Query": "types",
    "RandomRanker": "rankers.baselines.controls",
    "RankedBandits": "rankers.bandits.ranked_bandits",
    "Ranker": "ranker",
    "Ranking": "types",
    "RecurRank": "rankers.bandits.recurrank",
    "Reliability": "reliability",
    "SimMGD": "rankers.gradient.similarity",
    "TopRank": "rankers.bandits.toprank",
    "UniRank": "rankers.bandits.unirank",
    "XQuAD": "rankers.baselines.xquad",
}

__all__ = [
    "C3UCB",
    "CMGD",
    "CPS",
    "DBGD",
    "DPDBGD",
    "DSP",
    "EARS",
    "FARA",
    "MGD",
    "MMF",
    "MPDGD",
    "NSGD",
    "OFFR",
    "PDGD",
    "PMGD",
    "PMMF",
    "BatchRank",
    "Belief",
    "BubbleRank",
    "CascadeKLUCB",
    "CascadeLinUCB",
    "CascadeUCB1",
    "Constraint",
    "DcmKLUCB",
    "FairCo",
    "FairExp",
    "FixedScores",
    "Host",
    "LPFair",
    "Ledger",
    "MCFair",
    "NeuralPDGD",
    "OFFRAround",
    "Oracle",
    "PairRank",
    "Prior",
    "Query",
    "RandomRanker",
    "RankedBandits",
    "Ranker",
    "Ranking",
    "RecurRank",
    "Reliability",
    "SimMGD",
    "TopRank",
    "UniRank",
    "XQuAD",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'fairexp' has no attribute {name!r}")
    value = getattr(import_module(f"fairexp.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
