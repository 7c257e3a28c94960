"""User Behavior Insights 1.3: queries and events, as its schemas have them."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from fairexp.service.problems import invalid
from fairexp.service.requests.decode import decoded
from fairexp.service.requests.forms import Label, Name
from fairexp.service.requests.metarank import Id
from fairexp.service.requests.reports import Reported, read_reports, seconds


class UbiPosition(Struct):
    """Where it happened: the number of the result, from 1, or elsewhere on the page, which says nothing here."""

    ordinal: int | None = None


class UbiObject(Struct):
    """What it happened to."""

    object_id: Id | None = None


class UbiAttributes(Struct):
    """What it happened to, and where; other attributes are not looked at."""

    object: UbiObject | None = None
    position: UbiPosition | None = None


class UbiEvent(Struct):
    """A UBI event. `action_name` is the event's type, and `query_id` the request id of a ranking."""

    action_name: Label
    timestamp: str
    query_id: Name | None = None
    event_attributes: UbiAttributes | None = None


class UbiQuery(Struct):
    """A UBI query. One that was ranked here is known by its `query_id`, any other was made elsewhere."""

    user_query: str
    query_id: Name | None = None
    timestamp: str | None = None
    query_response_hit_ids: list[Name] = []


def read_ubi(body: bytes, *, max_events: int) -> tuple[bool, list[Reported]]:
    """Queries and events: one, a list of them, or one per line."""
    return read_reports(body, _report, max_events=max_events)


class _Kind(Struct):
    action_name: Any = None
    user_query: Any = None


def _report(given: bytes | msgspec.Raw, where: str) -> Reported:
    try:
        kind = msgspec.json.decode(given, type=_Kind)
    except (ValueError, RecursionError):
        kind = _Kind()
    if kind.action_name is not None:
        return _event(decoded(UbiEvent, given, where), where)
    if kind.user_query is not None:
        query = decoded(UbiQuery, given, where)
        return Reported("ranking", query.query_id, query.query_id, at=seconds(query.timestamp, where))
    raise invalid(f"{where}action_name", "nothing", "an event with action_name, or a query with user_query")


def _event(event: UbiEvent, where: str) -> Reported:
    """Events have no id: the same action on the same item of a ranking counts once."""
    attributes = event.event_attributes or UbiAttributes()
    name = None if attributes.object is None else attributes.object.object_id
    position = None if attributes.position is None else attributes.position.ordinal
    return Reported(
        "interaction",
        None,
        event.query_id,
        event.action_name,
        None if name is None else str(name),
        None if position is None else position - 1,
        at=seconds(event.timestamp, where),
    )
