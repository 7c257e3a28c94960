"""Metarank's JSON, so that a client of theirs can switch by changing a URL. Its documentation names the fields."""

from __future__ import annotations

import asyncio
import time
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Query, Request, Response

from fairexp.service.bodies.candidates import candidates_of
from fairexp.service.bodies.decode import Asked, MetarankEvent, read_metarank, read_metarank_events
from fairexp.service.bodies.forms import MetarankInteraction, MetarankMetadata, MetarankRanking
from fairexp.service.engine.events import GivenEvent
from fairexp.service.http.answers import REPEATED, answer
from fairexp.service.http.openapi import documented
from fairexp.service.http.permission import EACH, allow, sees
from fairexp.service.http.schemas import MetarankAccepted, MetarankAnswer
from fairexp.service.http.service import service_of
from fairexp.service.log.records import Rest, Shown
from fairexp.service.problems import ServiceError

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
    spec = service.expected(model)
    asked = await service.read(
        request,
        "max_body_bytes",
        read_metarank,
        columns=tuple((column.name, column.default) for column in spec.sent),
        group_field=spec.group_field,
        max_candidates=service.settings.max_candidates,
        max_fields=service.settings.max_features,
        explain=explain,
    )
    ranked = await service.rank(
        model,
        lambda runtime: candidates_of(asked, runtime, spec),
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
        MetarankAccepted,
        refusals=(404, 410),
        many=True,
    ),
)
async def feedback(request: Request) -> Response:
    """Metarank's feedback: one event, a list of them, or one per line. Interactions are learned from."""
    started = time.perf_counter()
    service = service_of(request)
    most = min(service.settings.max_batch, service.settings.max_events)
    accepted = updated = 0
    with service.feedback.place():
        events = await service.read(request, "max_feedback_bytes", read_metarank_events, max_events=most)
        for number, event in enumerate(events):
            taken, learned = await _take(request, event, f"[{number}]." if len(events) > 1 else "")
            accepted, updated = accepted + taken, updated + learned
    took = int(1000 * (time.perf_counter() - started))
    told = {"accepted": accepted, "status": "ok", "tookMillis": took, "updated": updated}
    return answer({**told, "ignored": len(events) - accepted})


async def _take(request: Request, event: MetarankEvent, where: str) -> tuple[int, int]:
    """(accepted, learned) of one event. Rankings of policies that the key is not for are as if there were none."""
    name = event.ranking
    if name is None:
        return 0, 0
    service = service_of(request)
    engine = service.engine
    named = await asyncio.to_thread(engine.rankings_named, name)
    found = [ranking_id for ranking_id in named if sees(request, engine.policy_of(ranking_id).row.name)]
    if not found:
        field = "id" if event.kind == "ranking" else "ranking"
        raise ServiceError(
            "unknown_ranking",
            f"{where}{field}: {name[:80]!r} is not a ranking that this service has shown",
            status=404,
            field=f"{where}{field}",
        )
    if event.kind == "ranking":
        return 1, 0  # it was kept when it was shown
    learned = 0
    for ranking_id in found:
        result = await service.learn(ranking_id, [GivenEvent(id=event.id, type=event.type, item=event.item)])
        learned += result.status == "learned"
    return 1, learned
