"""Simulated rounds: a ranker meets users in the loop, and what happened is recorded from outside."""

from fairexp.simulation.environment import build_ranker, ranker_names
from fairexp.simulation.loop import Round, play
from fairexp.simulation.run import Result, simulate

__all__ = ["Result", "Round", "build_ranker", "play", "ranker_names", "simulate"]
