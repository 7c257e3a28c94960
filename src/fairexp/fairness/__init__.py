"""Fairness of exposure: curves, the ledger, the best ranking, and the rankers that keep to it."""

from fairexp.fairness.demands import PROOFS, BestRanking, Demand, Outcome
from fairexp.fairness.ledger import Ledger
from fairexp.fairness.rankings import best_ranking
from fairexp.fairness.templates import BestTemplate, best_template

__all__ = ["PROOFS", "BestRanking", "BestTemplate", "Demand", "Ledger", "Outcome", "best_ranking", "best_template"]
