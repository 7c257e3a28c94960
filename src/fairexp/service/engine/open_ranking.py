"""A ranking that awaits feedback."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from sys import getsizeof

import numpy as np

from fairexp.arrays import Bools, Floats
from fairexp.service.log.records import Feedback, Shown

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
        if feedback.measured is not None:
            self.n_bytes += feedback.measured[1].nbytes if self.measured is None else 0
            self.measured = feedback.measured[1]
        self.taught |= feedback.status == "learned"
        self.last_seq = max(self.last_seq, feedback.seq)
