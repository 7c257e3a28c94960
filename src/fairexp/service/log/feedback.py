"""What came back for a ranking, and what was made of it, as the log keeps it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fairexp.arrays import Floats, State
from fairexp.service.store.codec import pack, unpack


@dataclass(frozen=True, slots=True)
class Event:
    """Something that a user did with one shown candidate; `position` counts from 0, `exposure` is what was measured."""

    id: str
    type: str
    position: int
    weight: float
    at: float | None = None
    exposure: float | None = None

    def plain(self) -> dict[str, Any]:
        """As JSON, short."""
        told = {"i": self.id, "t": self.type, "p": self.position, "w": self.weight, "a": self.at}
        return told if self.exposure is None else {**told, "x": self.exposure}


@dataclass(frozen=True, slots=True)
class Feedback:
    """What came back for the ranking at `ranking`, and what was made of it.

    `status` is "learned" or says why nothing was; `clicks` are the positions taught as clicked, `left_out` those that
    an earlier update has taught already. Where clicks have grades, `grades` are those of all positions by now, and
    `risen` the clicks taught before that are worth more since, each with the grade that it had. `measured` is the
    exposure (m,) by position that was charged until now, and what was measured in its place.
    """

    seq: int
    at: float
    ranking: int
    events: list[Event]
    status: str
    clicks: list[int]
    left_out: list[int]
    measured: tuple[Floats, Floats] | None = None
    grades: list[int] | None = None
    risen: list[tuple[int, int]] = field(default_factory=list)

    def payload(self) -> bytes:
        """As bytes for the log."""
        arrays: State = {} if self.measured is None else dict(zip(("charged", "measured"), self.measured, strict=True))
        meta: dict[str, Any] = {
            "e": [event.plain() for event in self.events],
            "s": self.status,
            "c": self.clicks,
            "l": self.left_out,
        }
        if self.grades is not None:
            meta |= {"g": self.grades, "r": self.risen}
        return pack(meta, arrays)

    @staticmethod
    def read(payload: bytes, *, seq: int, at: float, ranking: int) -> Feedback:
        """The record that `payload` made these bytes of."""
        meta, arrays = unpack(payload)
        events = [Event(each["i"], each["t"], each["p"], each["w"], each["a"], each.get("x")) for each in meta["e"]]
        return Feedback(
            seq=seq,
            at=at,
            ranking=ranking,
            events=events,
            status=meta["s"],
            clicks=meta["c"],
            left_out=meta["l"],
            measured=(arrays["charged"], arrays["measured"]) if "measured" in arrays else None,  # type: ignore[arg-type]
            grades=meta.get("g"),
            risen=[(position, before) for position, before in meta.get("r", [])],
        )
