"""Simulated users: ranking in, clicks out."""

from fairexp.lab.users.base import User, Visit
from fairexp.lab.users.cascade import Cascade
from fairexp.lab.users.dependent import DependentClickModel, dependent_clicks, preset_grades
from fairexp.lab.users.interventions import randomised_clicks, swapped_clicks
from fairexp.lab.users.load import load_user
from fairexp.lab.users.position import PositionBased

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
