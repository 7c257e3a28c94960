"""A ranking that awaits feedback."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from sys import getsizeof

import numpy as np

from fairexp.arrays import Bools, Floats
from fairexp.service.log.feedback import Feedback
from fairexp.service.log.shown import Shown
from fairexp.service.policies.spec import FeedbackSpec

ROUNDING = 1e-9
EVENT_BYTES = 64
"""What an event's id takes besides its text: its place in a set."""


@dataclass(slots=True, eq=False)
class OpenRanking:
    """A shown ranking with what has come back for it so far; `last_seq` is the latest log entry about it.

    `n_bytes` is about how much memory it takes.
    """

    shown: Shown
    weights: Floats
    clicked: Bools
    event_ids: set[str]
    last_seq: int
    n_bytes: int
    taught: bool = False
    measured: Floats | None = None
    """The exposure (m,) that is charged by now, where it was measured."""
    grades: list[int] | None = None
    """What each position is worth by now, where clicks have grades."""

    @staticmethod
    def of(shown: Shown, feedback: Sequence[Feedback] = ()) -> OpenRanking:
        """A shown ranking, and what came back for it until now."""
        n_shown, own = len(shown.shown), shown.trimmed()
        weights, clicked = np.zeros(n_shown), np.zeros(n_shown, dtype=np.bool_)
        opened = OpenRanking(own, weights, clicked, set(), own.seq, own.n_bytes + weights.nbytes + clicked.nbytes)
        for each in feedback:
            opened.absorb(each)
        return opened

    def absorb(self, feedback: Feedback) -> None:
        """Take note of what came back."""
        for event in feedback.events:
            self.event_ids.add(event.id)
            self.n_bytes += getsizeof(event.id) + EVENT_BYTES
            self.weights[event.position] += event.weight
        self.clicked[feedback.clicks] = True
        self.grades = self.grades if feedback.grades is None else feedback.grades
        if feedback.measured is not None:
            self.n_bytes += feedback.measured[1].nbytes if self.measured is None else 0
            self.measured = feedback.measured[1]
        self.taught |= feedback.status == "learned"
        self.last_seq = max(self.last_seq, feedback.seq)


@dataclass(frozen=True, slots=True)
class Worth:
    """What positions are worth: `grades` (m) by now, and clicks that are worth more since, with the grade they had."""

    grades: list[int] | None
    risen: list[tuple[int, int]]

    @staticmethod
    def of(opened: OpenRanking, weights: Floats, clicks: Sequence[int], rules: FeedbackSpec) -> Worth:
        """The worth of each click by the weights (m,) of its events; nothing where clicks have one grade only.

        A grade never falls, and a click has the first at least.
        """
        if rules.grades == 1:
            return Worth(None, [])
        before = np.array(opened.grades if opened.grades is not None else opened.clicked.astype(np.int64))
        reached = np.clip(np.floor(weights / rules.threshold + ROUNDING), 1, rules.grades).astype(np.int64)
        clicked = opened.clicked.copy()
        clicked[list(clicks)] = True
        grades = np.where(clicked, np.maximum(before, reached), 0)
        risen = np.flatnonzero(opened.clicked & (grades > before))
        return Worth(grades.tolist(), [(position, int(before[position])) for position in risen.tolist()])
