"""How long the runs that are left will take, from those that are done, and in which order that is soon known."""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Iterable, Sequence
from itertools import islice

from fairexp.lab.experiments.plan.run import Run
from fairexp.lab.experiments.run.plan import kind_of
from fairexp.lab.simulation.pool.paces import Kind, Paces, work


class TimeLeft:
    """Learns how much processor time a round of each kind of run takes, and what the clock says beyond that.

    Processor time is the same whatever else the machine does; how busy it is (seconds by the clock for a second of
    work) is taken from the later half of the work, and is the same for all kinds. What runs take in their processes is
    not all: what the clock says beyond it (handing them out, keeping records, processes that wait) is taken to be the
    same for every run. However many runs are left, a run that ends costs the same: sums by kind are kept.
    """

    def __init__(self) -> None:
        self._paces = Paces()
        self._left: OrderedDict[str, Run] = OrderedDict()  # a dict whose first entries are gone is slow to begin
        self._lengths: Counter[tuple[Kind, str, int]] = Counter()
        self._n_done = 0
        self._seconds = self._worked = 0.0
        self._latest: deque[tuple[float, float]] = deque()
        self._latest_seconds = self._latest_worked = 0.0
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

    def expect(self, runs: Iterable[Run], *, later: Iterable[Run] = ()) -> None:
        """What is left from now on: `runs` in the order in which they begin, then those of a `later` stage."""
        for (kind, ranker, rounds), n in self._lengths.items():
            self._paces.expect(kind, ranker, rounds=-n * rounds)
        self._lengths.clear()
        self._left = OrderedDict((run.key, run) for run in runs)
        for run in (*self._left.values(), *later):
            self._lengths[_length(run)] += 1
            self._paces.expect(kind_of(run), run.settings.ranker, rounds=run.settings.rounds)

    def add(self, key: str, *, seconds: float, worked: float) -> None:
        """Take in a run that is done: its `seconds` by the clock, and those that the processor `worked`."""
        run = self._ended(key)
        self._paces.add(kind_of(run), run.settings.ranker, rounds=run.settings.rounds, seconds=worked)
        self._data.add(run.data)
        self._n_done += 1
        self._seconds, self._worked = self._seconds + seconds, self._worked + worked
        self._latest.append((seconds, worked))
        self._latest_seconds, self._latest_worked = self._latest_seconds + seconds, self._latest_worked + worked
        while len(self._latest) > 1 and 2 * (self._latest_worked - self._latest[0][1]) >= self._worked:
            old_seconds, old_worked = self._latest.popleft()
            self._latest_seconds, self._latest_worked = (
                self._latest_seconds - old_seconds,
                self._latest_worked - old_worked,
            )

    def fail(self, key: str) -> None:
        """A run that ended without a record: it tells nothing of others."""
        run = self._ended(key)
        self._paces.expect(kind_of(run), run.settings.ranker, rounds=-run.settings.rounds)

    def _ended(self, key: str) -> Run:
        run = self._left.pop(key)
        length = _length(run)
        self._lengths[length] -= 1
        if not self._lengths[length]:
            del self._lengths[length]
        return run

    def expected(self, run: Run) -> float | None:
        """The processor time of a run; None before any was done."""
        return self._paces.seconds(kind_of(run), run.settings.ranker, rounds=run.settings.rounds)

    def seconds(self, *, passed: float, jobs: int) -> float | None:
        """By the clock, for the runs left, when one has just come to its end `passed` seconds after the first began.

        The runs that the other processes are at, the first of those left, are taken to be half done. None while there
        is a data set of which nothing was played: another tells nothing of it.
        """
        total = self._paces.left()
        if total is None or not self._data.issuperset(kind[0] for kind, _, _ in self._lengths):
            return None
        busy = self._latest_seconds / max(self._latest_worked, 1e-9)
        total = max(busy * total, 0.0)
        under_way = busy * sum(self.expected(run) or 0.0 for run in islice(self._left.values(), jobs - 1))
        lengths = (self._paces.seconds(kind, ranker, rounds=rounds) for kind, ranker, rounds in self._lengths)
        longest = busy * max((length or 0.0 for length in lengths), default=0.0)
        # Runs of one kind that began together end together: what is only not heard of yet must not count as lost.
        lost = max(passed * jobs - self._seconds - under_way, 0.0) / self._n_done
        n_left = self._lengths.total()
        return max((total - under_way / 2 + lost * n_left) / jobs, 0.5 * longest)


def _length(run: Run) -> tuple[Kind, str, int]:
    return kind_of(run), run.settings.ranker, run.settings.rounds
