"""Rank and learn: the two routes that a search page calls."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel

from fairexp.service.engine import Ranked
from fairexp.service.events import GivenEvent
from fairexp.service.explain import explain as explanation_of
from fairexp.service.intake import candidates_of
from fairexp.service.openapi import documented
from fairexp.service.problems import ServiceError, invalid
from fairexp.service.runtime import Candidates, Runtime
from fairexp.service.schemas import FeedbackAnswer, FeedbackGiven, FeedbackRequest, RankAnswer, RankRequest
from fairexp.service.service import Service, allow, kept, service_of
from fairexp.service.settings import Settings
from fairexp.service.web import answer, parsed, problem, read_body

router = APIRouter()
Asked = TypeVar("Asked", bound=BaseModel)
REPEATED = {"X-Repeated": "true"}
"""The header of an answer that was given before, to a request with the same id."""


@router.post(
    "/v1/policies/{policy}/rank",
    dependencies=[allow("rank")],
    **documented(RankRequest, RankAnswer, refusals=(404, 409)),
)
async def rank(request: Request, policy: str, explain: Annotated[bool, Query()] = False) -> Response:
    """Choose what to show, charge its exposure, and keep the record; answered when that is on disk."""
    started = time.perf_counter()
    service = service_of(request)
    _, ranked = await rank_asked(request, policy, RankRequest, candidates_of, lambda asked: asked.request_id)
    content = _told(policy, ranked)
    if explain:
        content["explanation"] = await service.in_thread(explanation_of, ranked.shown, ranked.spec)
    service.metrics.ranked(policy, time.perf_counter() - started)
    return answer(content, headers=REPEATED if ranked.repeated else None)


async def rank_asked(
    request: Request,
    policy: str,
    form: type[Asked],
    candidates: Callable[[Asked, Runtime, Settings], Candidates],
    request_id: Callable[[Asked], str | None],
) -> tuple[Asked, Ranked]:
    """What a request in some `form` asks for, and the ranking of its `candidates`, which is on disk by then."""
    service = service_of(request)
    service.expect(policy)  # what is refused is refused before its body is read
    asked = parsed(form, await read_body(request, service.settings.max_body_bytes))
    return asked, await service.rank(
        policy, lambda runtime: candidates(asked, runtime, service.settings), request_id(asked)
    )


def _told(policy: str, ranked: Ranked) -> dict[str, Any]:
    shown, names = ranked.shown, ranked.spec.group_names
    groups = [None] * len(shown.shown) if shown.groups is None else [names[group] for group in shown.groups.tolist()]
    items = [
        {"id": item, "position": position, "score": score, "group": group}
        for position, (item, score, group) in enumerate(
            zip(shown.ids, shown.scores.tolist(), groups, strict=True), start=1
        )
    ]
    return {
        "ranking_id": ranked.id,
        "policy": policy,
        "version": shown.version,
        "items": items,
        "qualified": shown.qualified,
        "added_regret": shown.added_regret,
    }


@router.post(
    "/v1/feedback",
    dependencies=[allow("feedback")],
    **documented(FeedbackRequest, FeedbackAnswer, refusals=(404, 410)),
)
async def feedback(request: Request) -> Response:
    """Take what users did; when this is answered it is on disk, and the next ranking has learned from it."""
    service = service_of(request)
    asked = parsed(FeedbackRequest, await read_body(request, service.settings.max_body_bytes))
    single = asked.ranking_id is not None and asked.events is not None
    if single == (asked.batch is not None) or (asked.ranking_id is None) != (asked.events is None):
        raise invalid("body", "another mix", "either ranking_id and events, or batch")
    if single:
        assert asked.ranking_id is not None and asked.events is not None
        given = FeedbackGiven(ranking_id=asked.ranking_id, events=asked.events, final=asked.final)
        return answer({"results": [await learn(service, given)]})
    assert asked.batch is not None
    if len(asked.batch) > service.settings.max_batch:
        raise invalid("batch", f"{len(asked.batch)} rankings", f"at most {service.settings.max_batch}")
    results = await asyncio.gather(*(_learn_or_tell(service, each) for each in asked.batch))
    if any(result["status"] == "refused" and result["error"]["code"] == "storage_unavailable" for result in results):
        raise next_unavailable()
    return answer({"results": results})


def next_unavailable() -> ServiceError:
    """A batch of which not all could be kept: repeating it is right, because what was kept counts once."""
    return ServiceError(
        "storage_unavailable",
        "batch: the store could not keep all of it; send it again, events that were kept will count once",
        status=503,
        retry_after=1.0,
    )


async def _learn_or_tell(service: Service, given: FeedbackGiven) -> dict[str, Any]:
    try:
        return await learn(service, given)
    except ServiceError as error:
        told = {"accepted": 0, "duplicates": 0, "status": "refused", "error": problem(error)}
        return {"ranking_id": given.ranking_id, **told}


async def learn(service: Service, given: FeedbackGiven) -> dict[str, Any]:
    """Learn from one ranking's feedback and wait until that is on disk."""
    engine = service.engine
    if len(given.events) > service.settings.max_events:
        raise invalid("events", f"{len(given.events)} events", f"at most {service.settings.max_events}")
    events = [
        GivenEvent(
            each.id, each.type, each.item, None if each.position is None else each.position - 1, each.weight, each.at
        )
        for each in given.events
    ]
    policy = engine.policy_of(given.ranking_id)
    # In a thread, one update of a policy at a time, each begun by the loop: a ranking finds the policy's lock taken by
    # one update at most, however many wait.
    async with service.turn("learn", policy):
        learned = await asyncio.to_thread(engine.learn, given.ranking_id, events, final=given.final)
    await kept(asyncio.wrap_future(learned.kept))
    service.metrics.feedback_events.labels(policy, learned.status).inc(learned.accepted)
    service.metrics.feedback_events.labels(policy, "duplicate").inc(learned.duplicates)
    return {
        "ranking_id": given.ranking_id,
        "accepted": learned.accepted,
        "duplicates": learned.duplicates,
        "status": learned.status,
    }
