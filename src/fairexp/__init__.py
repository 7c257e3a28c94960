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
    from fairexp.fairness.rivals.ears import EARS
    from fairexp.fairness.rivals.fairco import FairCo
    from fairexp.fairness.rivals.fara import FARA
    from fairexp.fairness.rivals.lp_fair import LPFair
    from fairexp.fairness.rivals.mcfair import MCFair
    from fairexp.fairness.rivals.mmf import MMF
    from fairexp.fairness.rivals.offr import OFFR
    from fairexp.fairness.rivals.offr_around import OFFRAround
    from fairexp.fairness.rivals.p_mmf import PMMF
    from fairexp.fairness.rivals.xquad import XQuAD
    from fairexp.prior import Prior
    from fairexp.rankers.bandits.batchrank import BatchRank
    from fairexp.rankers.bandits.bubblerank import BubbleRank
    from fairexp.rankers.bandits.cascade_ucb import CascadeKLUCB, CascadeUCB1, DcmKLUCB
    from fairexp.rankers.bandits.linear_cascade import C3UCB, CascadeLinUCB
    from fairexp.rankers.bandits.ranked_bandits import RankedBandits
    from fairexp.rankers.bandits.recurrank import RecurRank
    from fairexp.rankers.bandits.toprank import TopRank
    from fairexp.rankers.bandits.unirank import UniRank
    from fairexp.rankers.base import Ranker
    from fairexp.rankers.controls import FixedScores, Oracle, RandomRanker
    from fairexp.rankers.descent.cascade import CMGD
    from fairexp.rankers.descent.cps import CPS
    from fairexp.rankers.descent.dbgd import DBGD
    from fairexp.rankers.descent.dsp import DSP
    from fairexp.rankers.descent.dual_point import DPDBGD
    from fairexp.rankers.descent.mgd import MGD, PMGD
    from fairexp.rankers.descent.multi_point import MPDGD
    from fairexp.rankers.descent.nsgd import NSGD
    from fairexp.rankers.descent.similarity import SimMGD
    from fairexp.rankers.explorer import Explorer
    from fairexp.rankers.pairrank import PairRank
    from fairexp.rankers.pdgd import PDGD
    from fairexp.rankers.pdgd_neural import NeuralPDGD
    from fairexp.reliability import Reliability
    from fairexp.types import Belief, Query, Ranking

__version__ = "0.1.0"

_HOMES = {
    "BatchRank": "rankers.bandits.batchrank",
    "Belief": "types",
    "BubbleRank": "rankers.bandits.bubblerank",
    "C3UCB": "rankers.bandits.linear_cascade",
    "CMGD": "rankers.descent.cascade",
    "CPS": "rankers.descent.cps",
    "CascadeKLUCB": "rankers.bandits.cascade_ucb",
    "CascadeLinUCB": "rankers.bandits.linear_cascade",
    "CascadeUCB1": "rankers.bandits.cascade_ucb",
    "Constraint": "fairness.constraint",
    "DBGD": "rankers.descent.dbgd",
    "DPDBGD": "rankers.descent.dual_point",
    "DSP": "rankers.descent.dsp",
    "DcmKLUCB": "rankers.bandits.cascade_ucb",
    "EARS": "fairness.rivals.ears",
    "Explorer": "rankers.explorer",
    "FARA": "fairness.rivals.fara",
    "FairCo": "fairness.rivals.fairco",
    "FairExp": "fairness.fairexp",
    "FixedScores": "rankers.controls",
    "LPFair": "fairness.rivals.lp_fair",
    "Ledger": "fairness.ledger",
    "MCFair": "fairness.rivals.mcfair",
    "MGD": "rankers.descent.mgd",
    "MMF": "fairness.rivals.mmf",
    "MPDGD": "rankers.descent.multi_point",
    "NSGD": "rankers.descent.nsgd",
    "NeuralPDGD": "rankers.pdgd_neural",
    "OFFR": "fairness.rivals.offr",
    "OFFRAround": "fairness.rivals.offr_around",
    "Oracle": "rankers.controls",
    "PDGD": "rankers.pdgd",
    "PMGD": "rankers.descent.mgd",
    "PMMF": "fairness.rivals.p_mmf",
    "PairRank": "rankers.pairrank",
    "Prior": "prior",
    "Query": "types",
    "RandomRanker": "rankers.controls",
    "RankedBandits": "rankers.bandits.ranked_bandits",
    "Ranker": "rankers.base",
    "Ranking": "types",
    "RecurRank": "rankers.bandits.recurrank",
    "Reliability": "reliability",
    "SimMGD": "rankers.descent.similarity",
    "TopRank": "rankers.bandits.toprank",
    "UniRank": "rankers.bandits.unirank",
    "XQuAD": "fairness.rivals.xquad",
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
    "Explorer",
    "FairCo",
    "FairExp",
    "FixedScores",
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
