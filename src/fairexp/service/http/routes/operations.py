"""For operators: is it alive, is it ready, and what do the numbers say."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from fairexp.service.changes import latest_actions
from fairexp.service.http.answers import answer
from fairexp.service.http.openapi import documented
from fairexp.service.http.permission import ALL, allow
from fairexp.service.http.schemas import ActionList, Health, Readiness
from fairexp.service.http.service import service_of
from fairexp.service.problems import ServiceError

router = APIRouter()


@router.get("/healthz", dependencies=[allow("public")], **documented(None, Health))
async def healthz(request: Request) -> Response:
    """The process runs and answers."""
    return answer({"status": "ok"})


@router.get("/readyz", dependencies=[allow("public")], **documented(None, Readiness))
async def readyz(request: Request) -> Response:
    """State is restored, and the store keeps what it is given; otherwise 503.

    `damaged` is how many policies are out of service; `GET /v1/policies` and the metrics name them to those with a key.
    """
    service = service_of(request)
    if service.ready:
        return answer({"status": "ready", "damaged": len(service.engine.damaged)})
    raise ServiceError("not_ready", "starting, or the store cannot keep anything", status=503, retry_after=1.0)


@router.get("/metrics", dependencies=[allow("read", ALL)], response_class=Response)
async def metrics(request: Request) -> Response:
    """Counters, and where every policy stands, as Prometheus reads them."""
    return Response(service_of(request).metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


@router.get("/v1/actions", dependencies=[allow("admin", ALL)], **documented(None, ActionList))
async def actions(
    request: Request,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    before: Annotated[int | None, Query(ge=1, le=2**62, description="Older ones than this number.")] = None,
) -> Response:
    """What administrators did, newest first: when, who, what, to which policy."""
    engine = service_of(request).engine
    with engine.archive.reading():
        found = await asyncio.to_thread(latest_actions, engine.store, limit=limit, before=before)
    return answer({"actions": found, "before": found[-1]["number"] if len(found) == limit else None})
