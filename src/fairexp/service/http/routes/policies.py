"""Policies: declare, change, look at them, and at what they showed."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse

from fairexp.service.changes import ChangeRequest, PolicyChange
from fairexp.service.engine.live_policy import LivePolicy
from fairexp.service.http.answers import answer
from fairexp.service.http.openapi import documented
from fairexp.service.http.permission import EACH, allow, sees, who
from fairexp.service.http.schemas import (
    FairnessAnswer,
    PolicyAnswer,
    PolicyInfo,
    PolicyList,
    RankingInfo,
    RankingList,
)
from fairexp.service.http.service import Service, service_of
from fairexp.service.log.ranking_ids import unknown_ranking
from fairexp.service.policies.spec import NAME, PolicySpec, parse_policy
from fairexp.service.problems import invalid
from fairexp.service.requests.decode import MOST_KEYS, read_policy
from fairexp.service.views.export import exported
from fairexp.service.views.fairness import fairness_report
from fairexp.service.views.reports import brief, policy_report, ranking_report

router = APIRouter(prefix="/v1/policies")
DryRun = Annotated[bool, Query(description="Say what would happen, and change nothing.")]
Rounds = Annotated[int | None, Query(ge=1, description="Limit the history to this number of the latest rounds.")]
Seconds = Annotated[float | None, Query(gt=0.0, description="Limit the history to the latest seconds.")]
Discard = Annotated[bool, Query(description="Go ahead even if something is lost; a dry run says what.")]


@router.get("", dependencies=[allow("read", EACH)], **documented(None, PolicyList))
async def list_policies(request: Request) -> Response:
    """All policies that the key is for, with their versions and rounds."""
    engine = service_of(request).engine
    return answer({"policies": [brief(engine.policy(name)) for name in engine.names() if sees(request, name)]})


@router.put(
    "/{policy}", dependencies=[allow("admin", "policy")], **documented(PolicySpec, PolicyAnswer, refusals=(409,))
)
async def put_policy(request: Request, policy: str, dry_run: DryRun = False, discard: Discard = False) -> Response:
    """Declare a policy, or change it: features and groups are matched by name, and what makes sense is kept."""
    service = service_of(request)
    spec = parse_policy(await service.read(request, "max_policy_bytes", read_policy, **_limits(service)))
    if not NAME.fullmatch(policy):
        raise invalid("policy", repr(policy[:80]), "small letters, digits, - and _, at most 64, no sign at the start")
    asked = ChangeRequest(by=who(request), discard=discard, dry_run=dry_run)
    return _told(policy, await asyncio.to_thread(service.changes.put, policy, spec, asked))


def _limits(service: Service) -> dict[str, Any]:
    settings = service.settings
    return {
        "known": tuple(PolicySpec.model_fields),
        "most_values": max(settings.max_features, settings.max_length),
        "most_keys": max(MOST_KEYS, settings.max_groups, settings.max_providers),
    }


@router.post(
    "/{policy}/rollback",
    dependencies=[allow("admin", "policy")],
    **documented(None, PolicyAnswer, refusals=(404, 409, 410)),
)
async def roll_back(
    request: Request, policy: str, version: Annotated[int, Query(ge=1)], dry_run: DryRun = False
) -> Response:
    """Go on from the state that an earlier version ended with; what is in force can be rolled back to in turn."""
    changes, asked = service_of(request).changes, ChangeRequest(by=who(request), dry_run=dry_run)
    return _told(policy, await asyncio.to_thread(changes.rollback, policy, version, asked))


@router.post(
    "/{policy}/reset", dependencies=[allow("admin", "policy")], **documented(None, PolicyAnswer, refusals=(404, 409))
)
async def reset(
    request: Request,
    policy: str,
    what: Annotated[list[Literal["model", "ledger"]], Query(description="What shall start anew.", max_length=2)],
    dry_run: DryRun = False,
) -> Response:
    """Start anew with the model, the ledger or both; what there was can be rolled back to."""
    changes, asked = service_of(request).changes, ChangeRequest(by=who(request), dry_run=dry_run)
    return _told(policy, await asyncio.to_thread(changes.reset, policy, what, asked))


@router.delete(
    "/{policy}", dependencies=[allow("admin", "policy")], **documented(None, PolicyAnswer, refusals=(404, 409))
)
async def delete(request: Request, policy: str, dry_run: DryRun = False, discard: Discard = False) -> Response:
    """Put an end to a policy and to everything that was kept of it; nothing brings it back."""
    changes, asked = service_of(request).changes, ChangeRequest(by=who(request), discard=discard, dry_run=dry_run)
    return _told(policy, await asyncio.to_thread(changes.delete, policy, asked))


@router.get("/{policy}/export", dependencies=[allow("admin", "policy")], response_class=Response)
async def export(request: Request, policy: str) -> Response:
    """All that the store has of a policy but its models, as lines of JSON; damaged entries with what is wrong."""
    engine = service_of(request).engine
    row = engine.policy(policy).row
    engine.check_store()
    return StreamingResponse(exported(engine.store, row), media_type="application/x-ndjson")


def _told(policy: str, change: PolicyChange) -> Response:
    return answer(change.plain(policy))


@router.get("/{policy}", dependencies=[allow("read", "policy")], **documented(None, PolicyInfo, refusals=(404,)))
async def get_policy(request: Request, policy: str) -> Response:
    """The policy's state, versions, rounds, and its model in short."""
    service = service_of(request)
    told = await asyncio.to_thread(_policy, service, service.engine.policy(policy))
    return answer({**told, "latency": service.metrics.latency(policy)})


@router.get(
    "/{policy}/fairness", dependencies=[allow("read", "policy")], **documented(None, FairnessAnswer, refusals=(404,))
)
async def get_fairness(
    request: Request,
    policy: str,
    points: Annotated[int, Query(ge=1, le=512, description="At most so many points of history.")] = 100,
    rounds: Rounds = None,
    seconds: Seconds = None,
) -> Response:
    """Exposure by group, unfairness by pair against the tolerance, and their history."""
    engine = service_of(request).engine
    since = None if seconds is None else engine.clock() - seconds
    report = await asyncio.to_thread(fairness_report, engine.policy(policy), points=points, rounds=rounds, since=since)
    return answer(report)


@router.get(
    "/{policy}/rankings", dependencies=[allow("read", "policy")], **documented(None, RankingList, refusals=(404,))
)
async def list_rankings(
    request: Request,
    policy: str,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    before: Annotated[str | None, Query(max_length=100, description="A ranking id: older ones than this.")] = None,
    query_id: Annotated[str | None, Query(max_length=1000, description="Only those of this query.")] = None,
) -> Response:
    """The latest rankings, newest first; fewer than `limit` where their records are large, and then it says so."""
    service = service_of(request)
    live = service.engine.policy(policy)
    below = None if before is None else _seq(service, live, before)
    return answer(await asyncio.to_thread(_latest, service, live, limit, below, query_id))


@router.get(
    "/{policy}/rankings/{ranking_id}",
    dependencies=[allow("read", "policy")],
    **documented(None, RankingInfo, refusals=(404, 410)),
)
async def get_ranking(request: Request, policy: str, ranking_id: str) -> Response:
    """What was shown, when, why, and what came back."""
    service = service_of(request)
    live = service.engine.policy(policy)
    seq = _seq(service, live, ranking_id)
    return answer(await asyncio.to_thread(_ranking, service, live, seq, ranking_id))


def _policy(service: Service, live: LivePolicy) -> dict[str, Any]:
    return policy_report(live, kept=service.engine.store.version_states(live.row.policy))


def _seq(service: Service, live: LivePolicy, ranking_id: str) -> int:
    number, seq = service.engine.ids.read(ranking_id)
    if number != live.row.policy:
        raise unknown_ranking(ranking_id)
    return seq


def _latest(service: Service, live: LivePolicy, limit: int, before: int | None, query_id: str | None) -> dict[str, Any]:
    engine, number, most = service.engine, live.row.policy, service.settings.max_listed_bytes
    found, is_cut = engine.archive.latest(live, limit=limit, most_bytes=most, before=before, query_id=query_id)
    told = [
        ranking_report(engine.ids.make(number, shown.seq), live, shown, feedback, why=False)
        for shown, feedback in found
    ]
    more, cut = is_cut or len(told) == limit, None
    if is_cut:
        cut = (
            f"limit: {len(told)} of at most {limit} rankings, because the records in one answer take at most {most} "
            "bytes (setting max_listed_bytes). Ask again with `before` for the next ones"
        )
    return {"rankings": told, "before": told[-1]["ranking_id"] if more else None, "cut": cut}


def _ranking(service: Service, live: LivePolicy, seq: int, ranking_id: str) -> dict[str, Any]:
    return ranking_report(ranking_id, live, *service.engine.archive.ranking(live, seq))
