"""Fairness of exposure: curves, the ledger, the best ranking, and the rankers that keep to it."""

from fairexp.fairness.ledger import Ledger
from fairexp.fairness.search import (
    FOUND,
    IMPOSSIBLE,
    LEAST,
    PROOFS,
    UNPROVEN,
    BestRanking,
    BestTemplate,
    Demand,
    Outcome,
    best_ranking,
    best_template,
)

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
