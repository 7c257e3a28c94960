"""Events as callers report them, checked against what was shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fairexp.service.engine.open_ranking import OpenRanking
from fairexp.service.log.feedback import Event
from fairexp.service.policies.spec import PolicySpec
from fairexp.service.problems import AboveLimitError, ServiceError, invalid


class EventError(ServiceError):
    """An event that this ranking cannot take, and the `reason`: "undeclared_type", "no_item" or "not_shown"."""

    def __init__(self, reason: str, problem: ServiceError) -> None:
        self.reason = reason
        super().__init__(problem.code, str(problem), status=problem.status, field=problem.field)


@dataclass(frozen=True, slots=True)
class GivenEvent:
    """An event as a caller reports it: which shown candidate, by id or by position from 0.

    `exposure` is what was measured of a position that was seen.
    """

    id: str | None = None
    type: str = "click"
    item: str | None = None
    position: int | None = None
    weight: float | None = None
    at: float | None = None
    exposure: float | None = None


def fresh_events(
    opened: OpenRanking, events: Sequence[GivenEvent], spec: PolicySpec, *, most: int, most_exposure: float
) -> list[Event]:
    """The events that have not been seen before, checked against what was shown and what the policy allows."""
    ids, rules = opened.shown.ids, spec.feedback
    fresh: dict[str, Event] = {}
    for number, given in enumerate(events):
        where = f"events[{number}]"
        if given.type not in rules.events and given.type not in rules.viewed:
            known = ", ".join(dict.fromkeys([*rules.events, *rules.viewed]))
            problem = invalid(f"{where}.type", repr(given.type[:80]), f"an event of the policy ({known})")
            raise EventError("undeclared_type", problem)
        if given.exposure is not None and given.exposure > most_exposure:
            field, setting = f"{where}.exposure", "feedback.max_exposure"
            raise AboveLimitError(field, given.exposure, most=most_exposure, setting=setting)
        position = _position(given, ids, opened.shown.first, where)
        weight = rules.events.get(given.type, 0.0) if given.weight is None else given.weight
        event_id = f"{given.type}:{position}" if given.id is None else given.id
        if event_id not in opened.event_ids:
            fresh.setdefault(event_id, Event(event_id, given.type, position, float(weight), given.at, given.exposure))
    if len(fresh) + len(opened.event_ids) > most:
        raise invalid("events", f"{len(fresh) + len(opened.event_ids)} for one ranking", f"at most {most}")
    return list(fresh.values())


def _position(given: GivenEvent, ids: list[str], first: int, where: str) -> int:
    """The place on the page; positions count through all pages."""
    if given.item is not None:
        if given.item not in ids:
            problem = invalid(f"{where}.item", repr(given.item[:80]), "a candidate that this ranking has shown")
            raise EventError("not_shown", problem)
        return ids.index(given.item)
    if given.position is None:
        raise EventError("no_item", invalid(where, "neither item nor position", "one of them"))
    if not 0 <= given.position - first < len(ids):
        expected = f"a position from {first + 1} to {first + len(ids)}"
        raise EventError("not_shown", invalid(f"{where}.position", given.position + 1, expected))
    return given.position - first
