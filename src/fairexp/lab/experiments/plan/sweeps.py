"""Which rankers an experiment sweeps over which values: the one of its sweep, and rivals over their own trade-offs."""

from __future__ import annotations

from dataclasses import dataclass

from fairexp.errors import ArgumentError
from fairexp.lab.experiments.plan.run import user_name
from fairexp.lab.experiments.plan.spec import Experiment
from fairexp.registry import classes_of


@dataclass(frozen=True)
class Swept:
    """A ranker's parameter and the values that it takes."""

    parameter: str
    values: tuple[float, ...]


def sweeps(experiment: Experiment) -> dict[str, Swept]:
    """What is swept, by the ranker's label, the sweep's own ranker first."""
    sweep = experiment.sweep
    if sweep is None:
        return {}
    found = {sweep.ranker: Swept(sweep.parameter, tuple(sweep.values))}
    for label, values in sweep.rivals.items():
        trade_off = classes_of(experiment.rankers[label].ranker)[0].trade_off
        if trade_off is None:
            expected = "a fair ranker, which declares its trade-off"
            raise ArgumentError(f"sweep.rivals.{label}", experiment.rankers[label].ranker, expected)
        found.setdefault(label, Swept(trade_off.parameter, tuple(values or trade_off.sweep)))
    return found


def sweep_users(experiment: Experiment) -> list[str]:
    """The users with whom the sweep is played, by their names in ids."""
    sweep = experiment.sweep
    return [] if sweep is None else [user_name(user) for user in sweep.users or experiment.users]
