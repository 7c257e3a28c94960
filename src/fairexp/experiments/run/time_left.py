"""How long the runs that are left will take, from those that are done."""

from __future__ import annotations

from collections.abc import Sequence

from fairexp.experiments.plan.run import Run
from fairexp.experiments.run.plan import kind_of
from fairexp.simulation.pool.paces import Paces


class TimeLeft:
    """Learns how much processor time a round of each kind of run takes, and what the clock says beyond that.

    Processor time is the same whatever else the machine does; how busy it is (seconds by the clock for a second of
    work) is taken from the later half of the work, and is the same for all kinds. What runs take in their processes is
    not all: what the clock says beyond it (handing them out, keeping records, processes that wait) is taken to be the
    same for every run.
    """

    def __init__(self) -> None:
        self._paces = Paces()
        self._seconds: list[float] = []
        self._worked: list[float] = []

    def add(self, run: Run, *, seconds: float, worked: float) -> None:
        """Take in a run that is done: its `seconds` by the clock, and those that the processor `worked`."""
        self._paces.add(kind_of(run), run.settings.ranker, rounds=run.settings.rounds, seconds=worked)
        self._seconds.append(seconds)
        self._worked.append(worked)

    def expected(self, run: Run) -> float | None:
        """The processor time of a run; None before any was done."""
        return self._paces.seconds(kind_of(run), run.settings.ranker, rounds=run.settings.rounds)

    def seconds(self, left: Sequence[Run], *, passed: float, jobs: int) -> float | None:
        """By the clock, for the runs `left`, when one has just come to its end `passed` seconds after the first began.

        The runs that the other processes are at, the first of `left`, are taken to be half done.
        """
        if not self._seconds:
            return None
        busy = self._busy()
        times = [busy * (self.expected(run) or 0.0) for run in left]
        under_way = sum(times[: jobs - 1])
        # Runs of one kind that began together end together: what is only not heard of yet must not count as lost.
        lost = max(passed * jobs - sum(self._seconds) - under_way, 0.0) / len(self._seconds)
        return max((sum(times) - under_way / 2 + lost * len(times)) / jobs, 0.5 * max(times, default=0.0))

    def _busy(self) -> float:
        """Seconds by the clock for a second of work, over the latest runs that make up half of the work."""
        seconds, worked, total = 0.0, 0.0, sum(self._worked)
        for one_seconds, one_worked in zip(reversed(self._seconds), reversed(self._worked), strict=True):
            seconds, worked = seconds + one_seconds, worked + one_worked
            if 2 * worked >= total:
                break
        return seconds / max(worked, 1e-9)
