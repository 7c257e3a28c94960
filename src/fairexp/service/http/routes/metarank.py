"""Metarank's JSON, so that a client of theirs can switch by changing a URL. Its documentation names the fields."""

from __future__ import annotations

import time
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Query, Request, Response

from fairexp.service.http.answers import REPEATED, answer
from fairexp.service.http.openapi import documented
from fairexp.service.http.permission import EACH, allow
from fairexp.service.http.routes.verdicts import told, verdicts_on
from fairexp.service.http.schemas import EventsAnswer, MetarankAnswer
from fairexp.service.http.service import service_of
from fairexp.service.log.shown import Rest, Shown
from fairexp.service.requests.asked import Asked
from fairexp.service.requests.candidates import candidates_of
from fairexp.service.requests.metarank import (
    MetarankInteraction,
    MetarankMetadata,
    MetarankRanking,
    read_metarank,
    read_metarank_events,
)

router = APIRouter()


@router.post(
    "/rank/{model}",
    dependencies=[allow("rank", "model")],
    **documented(MetarankRanking, MetarankAnswer, refusals=(404, 409)),
)
async def rank(request: Request, model: str, explain: Annotated[bool, Query()] = False) -> Response:
    """Metarank's ranking: all items come back, those that the policy shows first, the rest as the ranker drew them."""
    started = time.perf_counter()
    service = service_of(request)
    columns = service.expected(model)
    read = await service.read(
        request,
        "max_body_bytes",
        read_metarank,
        columns=columns,
        max_candidates=service.settings.max_candidates,
        max_fields=service.settings.max_features,
        explain=explain,
    )
    asked = await service.fill(model, read, columns)
    ranked = await service.rank(
        model,
        lambda runtime: candidates_of(asked, runtime, columns),
        request_id=asked.context["request_id"],
        asked=asked.digest,
    )
    rest = ranked.shown.rest
    assert rest is not None
    service.metrics.ranked(model, time.perf_counter() - started)
    content = {"took": rest.took, "items": _items(asked, ranked.shown, rest)}
    return answer(content, headers=REPEATED if ranked.repeated else None)


def _items(asked: Asked, shown: Shown, rest: Rest) -> list[dict[str, Any]]:
    items = []
    order, scores = [*shown.shown.tolist(), *rest.order.tolist()], [*shown.scores.tolist(), *rest.scores.tolist()]
    for index, score in zip(order, scores, strict=True):
        item: dict[str, Any] = {"item": asked.ids[index], "score": score}
        if asked.fields is not None:
            item["features"] = orjson.Fragment(asked.fields[index])
        items.append(item)
    return items


@router.post(
    "/feedback",
    dependencies=[allow("feedback", EACH)],
    **documented(
        (MetarankInteraction, MetarankRanking, MetarankMetadata),
        EventsAnswer,
        refusals=(410,),
        many=True,
    ),
)
async def feedback(request: Request) -> Response:
    """Metarank's events: one, a list of them, or one per line. Each gets its verdict, whatever the others get."""
    started = time.perf_counter()
    service = service_of(request)
    limits = {"max_events": service.settings.max_events, "max_fields": service.settings.max_features}
    with service.feedback.place():
        many, events = await service.read(request, "max_feedback_bytes", read_metarank_events, **limits)
        verdicts = await verdicts_on(request, many, events)
    return answer(told(verdicts, time.perf_counter() - started))
