"""Simulated rounds: a ranker meets users in the loop, and what happened is recorded from outside.

`settings` name a run; `run` loads its data, has the ranker built for its `environment`, and hands both to the `loop`,
which plays rounds, measures each (`meter`), writes it to the `trace`, and ends with a `result`, also when Ctrl-C comes
(`interrupts`). `rows` reads traces back for charts; `pool` plays many runs side by side.
"""

from fairexp.simulation.environment import ranker_for, ranker_names
from fairexp.simulation.loop import play, simulate
from fairexp.simulation.meter import PlayedRound
from fairexp.simulation.result import Result

__all__ = ["PlayedRound", "Result", "play", "ranker_for", "ranker_names", "simulate"]
