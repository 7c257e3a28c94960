"""Rank and learn: the two routes that a search page calls."""

from __future__ import annotations

import asyncio
import time
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from fairexp.service.engine.engine import Ranked
from fairexp.service.engine.events import GivenEvent
from fairexp.service.http.answers import REPEATED, answer, problem
from fairexp.service.http.openapi import documented
from fairexp.service.http.permission import EACH, allow, check_policy
from fairexp.service.http.schemas import FeedbackAnswer, RankAnswer
from fairexp.service.http.service import service_of
from fairexp.service.problems import ServiceError
from fairexp.service.requests.candidates import candidates_of
from fairexp.service.requests.decode import read_feedback, read_ranking
from fairexp.service.requests.forms import EventGiven, FeedbackGiven, FeedbackRequest, RankRequest
from fairexp.service.views.explain import explain as explanation_of
from fairexp.service.views.reports import groups_told

router = APIRouter()


@router.post(
    "/v1/policies/{policy}/rank",
    dependencies=[allow("rank", "policy")],
    **documented(RankRequest, RankAnswer, refusals=(404, 409, 410)),
)
async def rank(request: Request, policy: str, explain: Annotated[bool, Query()] = False) -> Response:
    """Choose what to show, charge its exposure, and keep the record; answered when that is on disk."""
    started = time.perf_counter()
    service = service_of(request)
    columns = service.expected(policy)
    limits = {"columns": columns, "max_candidates": service.settings.max_candidates}
    read = await service.read(request, "max_body_bytes", read_ranking, **limits)
    asked = await service.fill(policy, read, columns)
    ranked = await service.rank(
        policy,
        lambda runtime: candidates_of(asked, runtime, columns),
        request_id=asked.context.get("request_id"),
        asked=asked.digest,
        after=asked.after,
    )
    content = _told(policy, ranked)
    if explain:
        content["explanation"] = await service.in_thread(explanation_of, ranked.shown, ranked.spec)
    service.metrics.ranked(policy, time.perf_counter() - started)
    return answer(content, headers=REPEATED if ranked.repeated else None)


def _told(policy: str, ranked: Ranked) -> dict[str, Any]:
    shown = ranked.shown
    groups = groups_told(shown, ranked.spec)
    items = [
        {"id": item, "position": position, "score": score, "group": group}
        for position, (item, score, group) in enumerate(
            zip(shown.ids, shown.scores.tolist(), groups, strict=True), start=shown.first + 1
        )
    ]
    return {
        "ranking_id": ranked.id,
        "policy": policy,
        "version": shown.version,
        "items": items,
        "qualified": shown.qualified,
        "proof": shown.proof,
        "gap_bound": shown.gap_bound,
        "met": {account.name: account.met for account in shown.accounts},
        "added_regret": shown.added_regret,
    }


@router.post(
    "/v1/feedback",
    dependencies=[allow("feedback", EACH)],
    **documented(FeedbackRequest, FeedbackAnswer, refusals=(404, 410)),
)
async def feedback(request: Request) -> Response:
    """Take what users did; when this is answered it is on disk, and the next ranking has learned from it."""
    service = service_of(request)
    limits = {"max_batch": service.settings.max_batch, "max_events": service.settings.max_events}
    with service.feedback.place():
        many, given = await service.read(request, "max_feedback_bytes", read_feedback, **limits)
        if not many:
            return answer({"results": [await _learn(request, given[0])]})
        results = await asyncio.gather(*(_learn_or_tell(request, each) for each in given))
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


async def _learn_or_tell(request: Request, given: FeedbackGiven) -> dict[str, Any]:
    try:
        return await _learn(request, given)
    except ServiceError as error:
        told = {"accepted": 0, "duplicates": 0, "status": "refused", "error": problem(error)}
        return {"ranking_id": given.ranking_id, **told}


async def _learn(request: Request, given: FeedbackGiven) -> dict[str, Any]:
    service, ranking_id = service_of(request), given.ranking_id
    check_policy(request, service.engine.policy_of(ranking_id).row.name)
    events = [_event(each) for each in given.events]
    learned = await service.learn(ranking_id, events, final=given.final, seen=given.seen)
    told = {"accepted": learned.accepted, "duplicates": learned.duplicates, "status": learned.status}
    return {"ranking_id": ranking_id, **told}


def _event(given: EventGiven) -> GivenEvent:
    position = None if given.position is None else given.position - 1
    return GivenEvent(given.id, given.type, given.item, position, given.weight, given.at, given.exposure)
