"""Simulated rounds: a ranker meets users in the loop, and what happened is recorded from outside.

`run` takes objects, or `settings` that name them; it has rankers built for their `environment`, which also says what
they are measured by, notes what can be known before (`forecast`), and hands all to the `loop`. That plays rounds,
measures each (`meter`), writes it to the `trace`, and ends with a `result`, also when Ctrl-C comes (`interrupts`).
`rows` reads traces back for charts; `pool` plays many runs side by side.
"""

from fairexp.lab.simulation.environment import ranker_for, ranker_names
from fairexp.lab.simulation.loop import play
from fairexp.lab.simulation.meter import PlayedRound
from fairexp.lab.simulation.result import Result
from fairexp.lab.simulation.run import simulate

__all__ = ["PlayedRound", "Result", "play", "ranker_for", "ranker_names", "simulate"]
