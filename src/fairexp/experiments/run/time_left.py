"""How long the runs that are left will take, from those that are done, and in which order that is soon known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from fairexp.experiments.plan.run import Run
from fairexp.experiments.run.plan import kind_of
from fairexp.simulation.pool.paces import Paces, work


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
        self._data: set[str] = set()

    def ordered(self, runs: Sequence[Run]) -> list[Run]:
        """One run of every kind, data sets by turns, and then the others; the longest first as far as is known."""
        longest = sorted(runs, key=lambda run: -(self.expected(run) or work(run.settings.ranker, run.settings.rounds)))
        firsts = {kind_of(run): run for run in reversed(longest)}
        turns: dict[Run, int] = {}
        n_met = Counter[str]()
        for run in longest:
            if firsts[kind_of(run)] is run:
                turns[run] = n_met[run.data]
                n_met[run.data] += 1
        return sorted(longest, key=lambda run: turns.get(run, len(longest)))

    def add(self, run: Run, *, seconds: float, worked: float) -> None:
        """Take in a run that is done: its `seconds` by the clock, and those that the processor `worked`."""
        self._paces.add(kind_of(run), run.settings.ranker, rounds=run.settings.rounds, seconds=worked)
        self._seconds.append(seconds)
        self._worked.append(worked)
        self._data.add(run.data)

    def expected(self, run: Run) -> float | None:
        """The processor time of a run; None before any was done."""
        return self._paces.seconds(kind_of(run), run.settings.ranker, rounds=run.settings.rounds)

    def seconds(self, left: Sequence[Run], *, passed: float, jobs: int) -> float | None:
        """By the clock, for the runs `left`, when one has just come to its end `passed` seconds after the first began.

        The runs that the other processes are at, the first of `left`, are taken to be half done. None while there is a
        data set of which nothing was played: another tells nothing of it.
        """
        if not self._seconds or not self._data.issuperset(run.data for run in left):
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
