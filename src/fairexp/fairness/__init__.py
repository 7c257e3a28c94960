"""Fairness of exposure: curves, the ledger, the best template, and the rankers that keep to it."""

from fairexp.fairness.ledger import Ledger
from fairexp.fairness.templates import BestTemplate, best_template

__all__ = ["BestTemplate", "Ledger", "best_template"]
