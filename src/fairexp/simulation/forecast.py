"""What can be known of a run before it: how often its candidates let exposure be as fair as it shall be."""

from __future__ import annotations

from functools import lru_cache

from fairexp.data import Dataset
from fairexp.fairness.exposure import exposure_curve
from fairexp.fairness.feasibility import ROUNDS, Feasibility, feasibility
from fairexp.registry import keeps_tolerance
from fairexp.simulation.environment import DEFAULTS
from fairexp.simulation.settings import Parts, RunSettings, loaded_parts, shares_of


def forecast(settings: RunSettings, *, data: Parts | None = None) -> list[str]:
    """What a person should know before the run, in sentences: about the data, and where fairness is impossible.

    `data` are the parts that `settings` name, where they are at hand.
    """
    train = (loaded_parts(settings.data, settings.validate) if data is None else data)[0]
    notes = list(train.notes)
    own = settings.parameters
    if train.groups is None or not keeps_tolerance(settings.ranker) or own.get("constraints") is not None:
        return notes
    shares = own.get("shares") or settings.shares
    owed = (float(own["beta"]), 1.0) if own.get("beta") is not None else shares
    owed = owed if isinstance(owed, str) else tuple(owed)
    tolerance = float(own.get("tolerance", DEFAULTS["tolerance"]))
    told = _feasibility(train, owed, tolerance, settings.exposure, settings.length, min(settings.rounds, ROUNDS))
    return notes + told.notes(train.group_names or [str(group) for group in range(train.n_groups)])


@lru_cache(maxsize=8)
def _feasibility(
    train: Dataset,
    shares: str | tuple[float, ...],
    tolerance: float,
    exposure: str | tuple[float, ...],
    length: int,
    rounds: int,
) -> Feasibility:
    """Kept, because runs of several users and rankers ask for the same."""
    owed = shares_of(shares, train)
    assert owed is not None
    curve = exposure_curve(exposure, length)
    return feasibility(train.group_counts(), exposure=curve, shares=owed, tolerance=tolerance, rounds=rounds)
