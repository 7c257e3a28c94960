"""Fairness of exposure: curves, the ledger, the best ranking, and the rankers that keep to it."""

from fairexp.fairness.demands import FOUND, IMPOSSIBLE, LEAST, PROOFS, UNPROVEN, BestRanking, Demand, Outcome
from fairexp.fairness.ledger import Ledger
from fairexp.fairness.rankings import best_ranking
from fairexp.fairness.templates import BestTemplate, best_template

__all__ = [
    "FOUND",
    "IMPOSSIBLE",
    "LEAST",
    "PROOFS",
    "UNPROVEN",
    "BestRanking",
    "BestTemplate",
    "Demand",
    "Ledger",
    "Outcome",
    "best_ranking",
    "best_template",
]
