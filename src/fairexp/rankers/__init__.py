"""Rankers: from a query to a belief, and from clicks back to what is believed. One module for each algorithm.

Each class is loaded when it is first used:

>>> from fairexp.rankers import FairCo, TopRank
>>> FairCo.__name__, TopRank.__module__
('FairCo', 'fairexp.rankers.bandits.toprank')
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

RANKERS = {
    "batchrank": "fairexp.rankers.bandits.batchrank:BatchRank",
    "bubblerank": "fairexp.rankers.bandits.bubblerank:BubbleRank",
    "c-mgd": "fairexp.rankers.gradient.cascade:CMGD",
    "c3-ucb": "fairexp.rankers.bandits.linear_cascade:C3UCB",
    "cascade-kl-ucb": "fairexp.rankers.bandits.cascade_ucb:CascadeKLUCB",
    "cascade-linucb": "fairexp.rankers.bandits.linear_cascade:CascadeLinUCB",
    "cascade-ucb1": "fairexp.rankers.bandits.cascade_ucb:CascadeUCB1",
    "cps": "fairexp.rankers.gradient.cps:CPS",
    "dbgd": "fairexp.rankers.gradient.dbgd:DBGD",
    "dcm-kl-ucb": "fairexp.rankers.bandits.cascade_ucb:DcmKLUCB",
    "dp-dbgd": "fairexp.rankers.gradient.dual_point:DPDBGD",
    "dsp": "fairexp.rankers.gradient.dsp:DSP",
    "ears": "fairexp.rankers.baselines.ears:EARS",
    "fairco": "fairexp.rankers.baselines.fairco:FairCo",
    "fara": "fairexp.rankers.baselines.fara:FARA",
    "fixed": "fairexp.rankers.baselines.controls:FixedScores",
    "lp-fair": "fairexp.rankers.baselines.lp_fair:LPFair",
    "mcfair": "fairexp.rankers.baselines.mcfair:MCFair",
    "mgd": "fairexp.rankers.gradient.mgd:MGD",
    "mmf": "fairexp.rankers.baselines.mmf:MMF",
    "mp-dgd": "fairexp.rankers.gradient.multi_point:MPDGD",
    "nsgd": "fairexp.rankers.gradient.nsgd:NSGD",
    "offr": "fairexp.rankers.baselines.offr:OFFR",
    "oracle": "fairexp.rankers.baselines.controls:Oracle",
    "p-mgd": "fairexp.rankers.gradient.mgd:PMGD",
    "p-mmf": "fairexp.rankers.baselines.p_mmf:PMMF",
    "pairrank": "fairexp.rankers.pairrank.ranker:PairRank",
    "pdgd": "fairexp.rankers.pdgd.ranker:PDGD",
    "pdgd-neural": "fairexp.rankers.pdgd.neural:NeuralPDGD",
    "random": "fairexp.rankers.baselines.controls:RandomRanker",
    "rba": "fairexp.rankers.bandits.ranked_bandits:RankedBandits",
    "recurrank": "fairexp.rankers.bandits.recurrank:RecurRank",
    "sim-mgd": "fairexp.rankers.gradient.similarity:SimMGD",
    "toprank": "fairexp.rankers.bandits.toprank:TopRank",
    "unirank": "fairexp.rankers.bandits.unirank:UniRank",
    "xquad": "fairexp.rankers.baselines.xquad:XQuAD",
}
"""The one table of rankers: a new one is its module and its line here."""

FAIR = "fairexp-"
"""The prefix of a name that means FairExp around the host that the rest names."""

WRAPPERS = {
    FAIR: "fairexp.fairness.fairexp:FairExp",
    "offr-": "fairexp.rankers.baselines.offr_around:OFFRAround",
}
"""Prefixes of names that mean a ranker around the host that the rest names."""

_MODULES = {place.partition(":")[2]: place.partition(":")[0] for place in (*RANKERS.values(), *WRAPPERS.values())}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'fairexp.rankers' has no attribute {name!r}")
    value = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
