"""What others' event formats report, in one form: each event by itself, so that one of them never holds up a batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec

from fairexp.service.problems import ServiceError, invalid
from fairexp.service.requests.asked import plain_problem
from fairexp.service.requests.decode import decoded

Problem = tuple[str, str, int, str | None]
LATEST = 1e12
"""No time of an event is later than this, in seconds since 1970."""


@dataclass(frozen=True, slots=True)
class Reported:
    """An event: something done with an item of a `ranking`, a ranking itself, or fields of an item or a user.

    `ranking` is the request id of the ranking. Where the event cannot be read, `problem` says why, and nothing else is
    to be trusted.
    """

    kind: Literal["interaction", "ranking", "item", "user", "unreadable"]
    id: str | None = None
    ranking: str | None = None
    type: str = ""
    item: str | None = None
    position: int | None = None
    at: float | None = None
    fields: dict[str, Any] = field(default_factory=dict)
    labels: dict[str, float] = field(default_factory=dict)
    problem: Problem | None = None


Read = Callable[[Any, str], Reported]


def read_reports(body: bytes, read: Read, *, max_events: int) -> tuple[bool, list[Reported]]:
    """Whether it is a batch, and its events: a list, or one per line. Of a single event a mistake is a 422."""
    found: list[Any]
    if body.lstrip(b" \t\r\n").startswith(b"["):
        many, found = True, decoded(list[msgspec.Raw], body)
    else:
        lines = [line for line in body.split(b"\n") if line.strip()]
        many = len(lines) > 1 and not _is_json(body)
        found = lines if many else [body]
    if len(found) > max_events:
        raise invalid("body", f"{len(found)} events", f"at most {max_events}")
    if not many:
        return False, [read(found[0], "")]
    return True, [_read_or_tell(read, each, f"[{number}].") for number, each in enumerate(found)]


def _read_or_tell(read: Read, given: Any, where: str) -> Reported:
    try:
        return read(given, where)
    except ServiceError as error:
        return Reported("unreadable", problem=plain_problem(error))


def _is_json(body: bytes) -> bool:
    try:
        msgspec.json.decode(body, type=msgspec.Raw)
    except (ValueError, RecursionError):
        return False
    return True


def seconds(given: str | float | None, where: str) -> float | None:
    """A time in seconds since 1970: from milliseconds, as a number or as text, or from ISO 8601.

    >>> seconds("1599391467000", ""), seconds(1599391467000, ""), seconds("2020-09-06T11:24:27Z", "")
    (1599391467.0, 1599391467.0, 1599391467.0)
    """
    if given is None:
        return None
    try:
        found = float(given) / 1000.0
    except ValueError:
        found = _from_iso(str(given), where)
    if not 0.0 <= found <= LATEST:
        raise _no_time(str(given), where)
    return found


def _from_iso(given: str, where: str) -> float:
    try:
        found = datetime.fromisoformat(given)
        return (found if found.tzinfo is not None else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise _no_time(given, where) from None


def _no_time(given: str, where: str) -> ServiceError:
    return invalid(f"{where}timestamp", repr(given[:80]), "milliseconds since 1970, or ISO 8601")
