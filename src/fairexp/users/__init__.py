"""Simulated users: ranking in, clicks out."""

from fairexp.users.base import User, Visit
from fairexp.users.cascade import Cascade
from fairexp.users.dependent import DependentClickModel, dependent_clicks, preset_grades
from fairexp.users.interventions import randomised_clicks, swapped_clicks
from fairexp.users.load import load_user
from fairexp.users.position import PositionBased

__all__ = [
    "Cascade",
    "DependentClickModel",
    "PositionBased",
    "User",
    "Visit",
    "dependent_clicks",
    "load_user",
    "preset_grades",
    "randomised_clicks",
    "swapped_clicks",
]
