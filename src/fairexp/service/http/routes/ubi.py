"""User Behavior Insights: queries and events of search pages that report in OpenSearch's format."""

from __future__ import annotations

import time

from fastapi import APIRouter, Request, Response

from fairexp.service.http.answers import answer
from fairexp.service.http.openapi import documented
from fairexp.service.http.permission import EACH, allow
from fairexp.service.http.routes.verdicts import told, verdicts_on
from fairexp.service.http.schemas import EventsAnswer
from fairexp.service.http.service import service_of
from fairexp.service.requests.ubi import UbiEvent, UbiQuery, read_ubi

router = APIRouter()


@router.post(
    "/v1/ubi",
    dependencies=[allow("feedback", EACH)],
    **documented((UbiEvent, UbiQuery), EventsAnswer, refusals=(410,), many=True),
)
async def ubi(request: Request) -> Response:
    """UBI 1.3 queries and events: one, a list of them, or one per line. Each gets its verdict."""
    started = time.perf_counter()
    service = service_of(request)
    with service.feedback.place():
        most = service.settings.max_events
        many, events = await service.read(request, "max_feedback_bytes", read_ubi, max_events=most)
        verdicts = await verdicts_on(request, many, events)
    return answer(told(verdicts, time.perf_counter() - started))
