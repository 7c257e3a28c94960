"""Policies: declare, change, look at them, and at what they showed."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from fairexp.service.desk import Desk
from fairexp.service.openapi import documented
from fairexp.service.policy import NAME, PolicySpec
from fairexp.service.problems import invalid
from fairexp.service.ranking_ids import unknown_ranking
from fairexp.service.reports import brief, fairness_report, policy_report, ranking_report
from fairexp.service.schemas import (
    FairnessAnswer,
    PolicyAnswer,
    PolicyInfo,
    PolicyList,
    RankingInfo,
    RankingList,
)
from fairexp.service.service import Service, allow, service_of
from fairexp.service.web import answer, parsed, read_body

router = APIRouter(prefix="/v1/policies")
KEPT = {
    "everything": "the model, the ledger and rankings that await feedback were kept",
    "model": "what was learned was kept; the ledger starts anew, and feedback for earlier rankings is noted only",
    "nothing": "a new start: nothing was taken over",
}


@router.get("", dependencies=[allow("read")], **documented(None, PolicyList))
async def list_policies(request: Request) -> Response:
    """All policies with their versions and rounds."""
    engine = service_of(request).engine
    return answer({"policies": [brief(engine.desk(name)) for name in engine.names()]})


@router.put("/{policy}", dependencies=[allow("admin")], **documented(PolicySpec, PolicyAnswer, refusals=(409,)))
async def put_policy(request: Request, policy: str) -> Response:
    """Declare a policy, or change it: the new version keeps what it can of the old one, and says what."""
    service = service_of(request)
    spec = parsed(PolicySpec, await read_body(request, service.settings.max_body_bytes))
    if not NAME.fullmatch(policy):
        raise invalid("policy", repr(policy[:80]), "small letters, digits, - and _, at most 64, no sign at the start")
    change = await asyncio.to_thread(service.engine.put_policy, policy, spec)
    message = (
        KEPT[change.kept] if change.changed and change.version > 1 else "created" if change.changed else "as it was"
    )
    told = {"policy": policy, "version": change.version, "changed": change.changed, "kept": change.kept}
    return answer({**told, "message": message, "warnings": change.warnings})


@router.get("/{policy}", dependencies=[allow("read")], **documented(None, PolicyInfo, refusals=(404,)))
async def get_policy(request: Request, policy: str) -> Response:
    """The policy's state, versions, rounds, and its model in short."""
    service = service_of(request)
    told = await asyncio.to_thread(policy_report, service.engine.desk(policy))
    return answer({**told, "latency": service.metrics.latency(policy)})


@router.get("/{policy}/fairness", dependencies=[allow("read")], **documented(None, FairnessAnswer, refusals=(404,)))
async def get_fairness(
    request: Request,
    policy: str,
    points: Annotated[int, Query(ge=1, le=512, description="At most so many points of history.")] = 100,
    recent: Annotated[bool, Query(description="The latest rounds one by one, instead of all.")] = False,
) -> Response:
    """Exposure by group, unfairness by pair against the tolerance, and their history."""
    desk = service_of(request).engine.desk(policy)
    return answer(await asyncio.to_thread(fairness_report, desk, points=points, recent=recent))


@router.get("/{policy}/rankings", dependencies=[allow("read")], **documented(None, RankingList, refusals=(404,)))
async def list_rankings(
    request: Request,
    policy: str,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    before: Annotated[str | None, Query(max_length=100, description="A ranking id: older ones than this.")] = None,
) -> Response:
    """The latest rankings, newest first."""
    service = service_of(request)
    desk = service.engine.desk(policy)
    below = None if before is None else _seq(service, desk, before)
    found = await asyncio.to_thread(_latest, service, desk, limit, below)
    return answer({"rankings": found, "before": found[-1]["ranking_id"] if len(found) == limit else None})


@router.get(
    "/{policy}/rankings/{ranking_id}",
    dependencies=[allow("read")],
    **documented(None, RankingInfo, refusals=(404, 410)),
)
async def get_ranking(request: Request, policy: str, ranking_id: str) -> Response:
    """What was shown, when, why, and what came back."""
    service = service_of(request)
    desk = service.engine.desk(policy)
    seq = _seq(service, desk, ranking_id)
    return answer(await asyncio.to_thread(_ranking, service, desk, seq, ranking_id))


def _seq(service: Service, desk: Desk, ranking_id: str) -> int:
    number, seq = service.engine.ids.read(ranking_id)
    if number != desk.row.policy:
        raise unknown_ranking(ranking_id)
    return seq


def _latest(service: Service, desk: Desk, limit: int, before: int | None) -> list[dict[str, Any]]:
    engine, number = service.engine, desk.row.policy
    return [
        ranking_report(engine.ids.make(number, shown.seq), desk, shown, feedback, why=False)
        for shown, feedback in engine.archive.latest(desk, limit=limit, before=before)
    ]


def _ranking(service: Service, desk: Desk, seq: int, ranking_id: str) -> dict[str, Any]:
    return ranking_report(ranking_id, desk, *service.engine.archive.ranking(desk, seq))
