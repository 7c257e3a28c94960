"""Users: what is kept about one can be erased."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response

from fairexp.service.http.answers import answer
from fairexp.service.http.openapi import documented
from fairexp.service.http.permission import ALL, allow, who
from fairexp.service.http.schemas import ErasedAnswer
from fairexp.service.http.service import service_of

router = APIRouter()


@router.delete("/v1/users/{user:path}", dependencies=[allow("admin", ALL)], **documented(None, ErasedAnswer))
async def erase_user(
    request: Request,
    user: Annotated[str, Path(min_length=1, max_length=256)],
    dry_run: Annotated[bool, Query(description="Only say how many rankings it would touch.")] = False,
) -> Response:
    """Erase user, session, query id and request id of all rankings that were shown to a user, in all policies."""
    erase = partial(service_of(request).engine.erase, user, by=who(request), dry_run=dry_run)
    return answer({"rankings": await asyncio.to_thread(erase), "erased": not dry_run})
