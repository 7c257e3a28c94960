"""Interleaving and multileaving: one list from those of two or more rankers, whose clicks say which is better.

`interleave` mixes lists, `Interleaved.credit` shares out the clicks, `compare` does both over a stream of visits.

>>> mixed = interleave([["a", "b", "c"], ["c", "a", "b"]], length=2, seed=0)
>>> mixed.shown.tolist()
['a', 'c']
>>> mixed.credit([False, True]).tolist()
[0.0, 1.0]
"""

from fairexp.interleaving.comparison import Comparison, Pair, compare
from fairexp.interleaving.methods import METHODS, interleave, mix
from fairexp.interleaving.mixed import Interleaved
from fairexp.interleaving.probabilistic import Probabilistic, probabilistic
from fairexp.interleaving.team_draft import TeamDraft, team_draft

__all__ = [
    "METHODS",
    "Comparison",
    "Interleaved",
    "Pair",
    "Probabilistic",
    "TeamDraft",
    "compare",
    "interleave",
    "mix",
    "probabilistic",
    "team_draft",
]
