"""How long the runs that are left will take, from those that are done."""

from __future__ import annotations

from collections.abc import Sequence

from fairexp.experiments.plan.run import Run
from fairexp.experiments.run.plan import Kind, kind_of
from fairexp.registry import relative_cost


class TimeLeft:
    """Learns what a round of each kind of run takes, and what the clock says beyond that.

    A kind that was not played yet is taken to cost what its ranker's `relative_cost` says beside kinds of the same data
    that were, or of all where there are none. What runs take in their processes is not all: what the clock says beyond
    it (handing them out, keeping records, processes that wait) is taken to be the same for every run.
    """

    def __init__(self) -> None:
        self._seconds: dict[Kind, float] = {}
        self._rounds: dict[Kind, int] = {}
        self._costs: dict[Kind, float] = {}
        self._done = 0.0
        self._n_done = 0

    def add(self, run: Run, seconds: float) -> None:
        """Take in a run that is done."""
        kind = kind_of(run)
        self._seconds[kind] = self._seconds.get(kind, 0.0) + seconds
        self._rounds[kind] = self._rounds.get(kind, 0) + run.settings.rounds
        self._costs[kind] = relative_cost(run.settings.ranker)
        self._done += seconds
        self._n_done += 1

    def expected(self, run: Run) -> float | None:
        """The seconds of a run; None before any was done."""
        kind = kind_of(run)
        if kind in self._seconds:
            return self._seconds[kind] / self._rounds[kind] * run.settings.rounds
        alike = [one for one in self._seconds if one[0] == run.data] or list(self._seconds)
        if not alike:
            return None
        work = sum(self._rounds[one] * self._costs[one] for one in alike)
        per_cost = sum(self._seconds[one] for one in alike) / work
        return per_cost * run.settings.rounds * relative_cost(run.settings.ranker)

    def seconds(self, left: Sequence[Run], *, passed: float, jobs: int) -> float | None:
        """By the clock, for the runs `left`, when one has just come to its end `passed` seconds after the first began.

        The runs that the other processes are at, the first of `left`, are taken to be half done.
        """
        if not self._n_done:
            return None
        times = [self.expected(run) or 0.0 for run in left]
        under_way = sum(times[: jobs - 1])
        # Runs of one kind that began together end together: what is only not heard of yet must not count as lost.
        lost = max(passed * jobs - self._done - under_way, 0.0) / self._n_done
        return max((sum(times) - under_way / 2 + lost * len(times)) / jobs, 0.5 * max(times, default=0.0))
