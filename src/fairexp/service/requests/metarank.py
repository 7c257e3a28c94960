"""Metarank's requests and events, as its documentation has them. Ids may be numbers."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from fairexp.service.policies.columns import Columns
from fairexp.service.problems import invalid
from fairexp.service.requests.asked import Asked, check_ids, check_number, digest_of, plain_problem
from fairexp.service.requests.decode import decoded
from fairexp.service.requests.fields import by_name
from fairexp.service.requests.forms import Label, Name, Value
from fairexp.service.requests.reports import Reported, read_reports, seconds

Id = Name | Annotated[int, Meta(ge=-(2**53), le=2**53)]
Timestamp = str | float


class MetarankField(Struct):
    """A named value, as Metarank's clients send it."""

    name: Name
    value: Value | None = None


class MetarankItem(Struct):
    """An item to rank, or shown. `relevancy` stands for a field of that name; `label` is an explicit judgement."""

    id: Id
    fields: list[MetarankField] = []
    relevancy: float | None = None
    label: float | None = None

    @property
    def own(self) -> dict[str, Any]:
        """Its fields by name."""
        given = {} if self.relevancy is None else {"relevancy": self.relevancy}
        return {**given, **{each.name: each.value for each in self.fields}}


class MetarankRanking(Struct):
    """Metarank's ranking request and ranking event."""

    id: Id
    items: list[MetarankItem]
    event: Literal["ranking"] = "ranking"
    timestamp: Timestamp | None = None
    user: Id | None = None
    session: Id | None = None
    fields: list[MetarankField] = []


class MetarankInteraction(Struct):
    """Metarank's interaction event; one without `ranking` is counted, and not learned from."""

    event: Literal["interaction"]
    id: Id
    type: Label
    item: Id
    ranking: Id | None = None
    timestamp: Timestamp | None = None
    user: Id | None = None
    session: Id | None = None
    fields: list[MetarankField] = []


class MetarankMetadata(Struct):
    """Metarank's item event (`item`) and user event (`user`): fields from `timestamp` on."""

    event: Literal["item", "user"]
    id: Id | None = None
    item: Id | None = None
    user: Id | None = None
    timestamp: Timestamp | None = None
    fields: list[MetarankField] = []


def read_metarank(body: bytes, *, columns: Columns, max_candidates: int, max_fields: int, explain: bool) -> Asked:
    """Metarank's form; fields become features by the policy's names."""
    request = decoded(MetarankRanking, body)
    check_number("items", len(request.items), max_candidates)
    ids = [str(item.id) for item in request.items]
    check_ids(ids, "items[{}].id")
    _check_fields("fields", request.fields, max_fields)
    for number, item in enumerate(request.items):
        _check_fields(f"items[{number}].fields", item.fields, max_fields)
    shared = {each.name: each.value for each in request.fields}
    rows, groups, problem = by_name([item.own for item in request.items], shared, columns)
    context = {"request_id": request.id, "user": request.user, "session": request.session}
    return Asked(
        "items",
        ids,
        groups,
        rows,
        context={key: str(value) for key, value in context.items() if value is not None},
        fields=[msgspec.json.encode(item.fields) for item in request.items] if explain else None,
        digest=digest_of(msgspec.json.encode([request.items, request.fields])),
        problem=plain_problem(problem),
        whole=True,
    )


def read_metarank_events(body: bytes, *, max_events: int, max_fields: int) -> tuple[bool, list[Reported]]:
    """Metarank's feedback: one event, a list of them, or one per line."""
    return read_reports(body, lambda given, where: _event(given, where, max_fields), max_events=max_events)


class _Kind(Struct):
    event: Any = None


def _event(given: bytes | msgspec.Raw, where: str, max_fields: int) -> Reported:
    try:
        kind = msgspec.json.decode(given, type=_Kind).event
    except (ValueError, RecursionError):
        kind = None
    if kind == "interaction":
        event = decoded(MetarankInteraction, given, where)
        ranking = None if event.ranking is None else str(event.ranking)
        at = seconds(event.timestamp, where)
        return Reported("interaction", str(event.id), ranking, event.type, str(event.item), at=at)
    if kind == "ranking":
        shown = decoded(MetarankRanking, given, where)
        labels = {str(item.id): item.label for item in shown.items if item.label is not None}
        name, at = str(shown.id), seconds(shown.timestamp, where)
        return Reported("ranking", name, name, at=at, labels=labels)
    if kind in ("item", "user"):
        return _metadata(decoded(MetarankMetadata, given, where), where, max_fields)
    told = "nothing" if kind is None else repr(kind)[:80]
    raise invalid(f"{where}event", told, "interaction, ranking, item or user")


def _metadata(event: MetarankMetadata, where: str, max_fields: int) -> Reported:
    _check_fields(f"{where}fields", event.fields, max_fields)
    about = event.item if event.event == "item" else event.user
    if about is None:
        raise invalid(f"{where}{event.event}", "nothing", f"the id of the {event.event}")
    at = seconds(event.timestamp, where)
    fields = {each.name: each.value for each in event.fields}
    return Reported(event.event, None if event.id is None else str(event.id), item=str(about), at=at, fields=fields)


def _check_fields(where: str, fields: list[MetarankField], most: int) -> None:
    if len(fields) > most:
        raise invalid(where, f"{len(fields)} fields", f"at most {most}")
