"""Users: what is kept about one can be read and erased."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from fairexp.service.http.answers import answer
from fairexp.service.http.ids import Id
from fairexp.service.http.openapi import documented
from fairexp.service.http.permission import ALL, allow, who
from fairexp.service.http.schemas import ErasedAnswer, UserInfo
from fairexp.service.http.service import service_of

router = APIRouter()


@router.get("/v1/users", dependencies=[allow("admin", ALL)], **documented(None, UserInfo))
async def user_info(request: Request, user: Id) -> Response:
    """How many rankings name a user, in all policies, and the user's fields by policy."""
    return answer(await asyncio.to_thread(service_of(request).engine.known_of, user))


@router.delete("/v1/users", dependencies=[allow("admin", ALL)], **documented(None, ErasedAnswer))
@router.delete("/v1/users/{user:id}", dependencies=[allow("admin", ALL)], **documented(None, ErasedAnswer))
async def erase_user(
    request: Request,
    user: Id,
    dry_run: Annotated[bool, Query(description="Only say how many rankings it would touch.")] = False,
) -> Response:
    """Erase user, session, query id and request id of all rankings that were shown to a user, in all policies.

    A path does not carry every id whole (`..`, say): a query does.
    """
    erase = partial(service_of(request).engine.erase, user, by=who(request), dry_run=dry_run)
    return answer({"rankings": await asyncio.to_thread(erase), "erased": not dry_run})
