"""Metarank's JSON, so that a client of theirs can switch by changing a URL. Its documentation names the fields."""

from __future__ import annotations

import asyncio
import time
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Query, Request, Response
from pydantic import ValidationError

from fairexp.service.intake import metarank_candidates
from fairexp.service.openapi import documented
from fairexp.service.policy import first_problem
from fairexp.service.problems import ServiceError, invalid
from fairexp.service.records import Rest, Shown
from fairexp.service.routes.ranking import REPEATED, learn, rank_asked
from fairexp.service.schemas import (
    EventGiven,
    FeedbackGiven,
    MetarankAccepted,
    MetarankAnswer,
    MetarankInteraction,
    MetarankMetadata,
    MetarankRanking,
)
from fairexp.service.service import Service, allow, service_of
from fairexp.service.web import answer, read_body

router = APIRouter()
Event = MetarankInteraction | MetarankRanking | MetarankMetadata
_MODELS: dict[str, type[Event]] = {
    "interaction": MetarankInteraction,
    "ranking": MetarankRanking,
    "item": MetarankMetadata,
    "user": MetarankMetadata,
}


@router.post(
    "/rank/{model}",
    dependencies=[allow("rank")],
    **documented(MetarankRanking, MetarankAnswer, refusals=(404, 409)),
)
async def rank(request: Request, model: str, explain: Annotated[bool, Query()] = False) -> Response:
    """Metarank's ranking: all items come back, those that the policy shows first, the rest as the ranker drew them."""
    started = time.perf_counter()
    asked, ranked = await rank_asked(request, model, MetarankRanking, metarank_candidates, lambda asked: asked.id)
    rest = ranked.shown.rest
    assert rest is not None
    service_of(request).metrics.ranked(model, time.perf_counter() - started)
    content = {"took": rest.took, "items": _items(asked, ranked.shown, rest, explain)}
    return answer(content, headers=REPEATED if ranked.repeated else None)


def _items(asked: MetarankRanking, shown: Shown, rest: Rest, explain: bool) -> list[dict[str, Any]]:
    items = []
    order, scores = [*shown.shown.tolist(), *rest.order.tolist()], [*shown.scores.tolist(), *rest.scores.tolist()]
    for index, score in zip(order, scores, strict=True):
        item: dict[str, Any] = {"item": asked.items[index].id, "score": score}
        if explain:
            item["features"] = [{"name": field.name, "value": field.value} for field in asked.items[index].fields]
        items.append(item)
    return items


@router.post(
    "/feedback",
    dependencies=[allow("feedback")],
    **documented(
        (MetarankInteraction, MetarankRanking, MetarankMetadata),
        MetarankAccepted,
        refusals=(404, 410),
        many=True,
    ),
)
async def feedback(request: Request) -> Response:
    """Metarank's feedback: one event, a list of them, or one per line. Interactions are learned from."""
    started = time.perf_counter()
    service = service_of(request)
    events = _events(await read_body(request, service.settings.max_body_bytes))
    if len(events) > service.settings.max_batch:
        raise invalid("body", f"{len(events)} events", f"at most {service.settings.max_batch}")
    accepted = updated = 0
    for number, event in enumerate(events):
        taken, learned = await _take(service, event, f"[{number}]." if len(events) > 1 else "")
        accepted, updated = accepted + taken, updated + learned
    took = int(1000 * (time.perf_counter() - started))
    told = {"accepted": accepted, "status": "ok", "tookMillis": took, "updated": updated}
    return answer({**told, "ignored": len(events) - accepted})


def _events(body: bytes) -> list[Event]:
    try:
        given = orjson.loads(body)
    except orjson.JSONDecodeError:
        lines = [line for line in body.splitlines() if line.strip()]
        try:
            given = [orjson.loads(line) for line in lines] if len(lines) > 1 else None
        except orjson.JSONDecodeError:
            given = None
    found = given if isinstance(given, list) else [given]
    return [_event(each) for each in found]


def _event(given: Any) -> Event:
    kind = given.get("event") if isinstance(given, dict) else None
    if not isinstance(kind, str) or kind not in _MODELS:
        raise invalid("event", repr(kind)[:80] if kind is not None else "nothing", "interaction, ranking, item or user")
    try:
        return _MODELS[kind].model_validate(given)
    except ValidationError as error:
        raise first_problem(error) from None


async def _take(service: Service, event: Event, where: str) -> tuple[int, int]:
    """(accepted, learned) of one event."""
    if isinstance(event, MetarankMetadata):
        return 0, 0
    name = event.id if isinstance(event, MetarankRanking) else event.ranking
    if name is None:
        return 0, 0
    found = await asyncio.to_thread(service.engine.rankings_named, name)
    if not found:
        field = "id" if isinstance(event, MetarankRanking) else "ranking"
        raise ServiceError(
            "unknown_ranking",
            f"{where}{field}: {name[:80]!r} is not a ranking that this service has shown",
            status=404,
            field=f"{where}{field}",
        )
    if isinstance(event, MetarankRanking):
        return 1, 0  # it was kept when it was shown
    learned = 0
    for ranking_id in found:
        given = EventGiven(id=event.id, type=event.type, item=event.item)
        result = await learn(service, FeedbackGiven(ranking_id=ranking_id, events=[given]))
        learned += result["status"] == "learned"
    return 1, learned
