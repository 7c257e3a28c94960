"""Items: fields that are kept with a policy, and what is known of one."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from fairexp.service.bodies.decode import read_items
from fairexp.service.bodies.forms import FieldsGiven, ItemsRequest
from fairexp.service.http.answers import answer
from fairexp.service.http.openapi import documented
from fairexp.service.http.permission import allow
from fairexp.service.http.schemas import ItemInfo, ItemsAnswer
from fairexp.service.http.service import Service, service_of
from fairexp.service.problems import ServiceError
from fairexp.service.store.base import Fields, Table

router = APIRouter()


@router.post(
    "/v1/policies/{policy}/items",
    dependencies=[allow("feedback", "policy")],
    **documented(ItemsRequest, ItemsAnswer, refusals=(404,)),
)
async def put_items(request: Request, policy: str) -> Response:
    """Keep fields of items and users; when this is answered they are on disk, and the next ranking finds them."""
    service = service_of(request)
    with service.feedback.place():
        most = {"max_items": service.settings.max_events}
        given = await service.read(request, "max_feedback_bytes", read_items, **most)
        tables: dict[Table, list[Fields]] = {
            "items": _fields(service, given.items, "items"),
            "users": _fields(service, given.users, "users"),
        }
        kept = [service.keep_fields(policy, table, found) for table, found in tables.items()]
        await asyncio.gather(*kept)
    return answer({"items": len(given.items), "users": len(given.users)})


def _fields(service: Service, given: list[FieldsGiven], where: str) -> list[Fields]:
    now = service.engine.clock()
    for number, each in enumerate(given):
        service.engine.catalog.check_size(each.fields, f"{where}[{number}].fields")
    return [Fields(each.id, each.fields, now if each.at is None else each.at, each.until) for each in given]


@router.get(
    "/v1/policies/{policy}/items/{item:path}",
    dependencies=[allow("read", "policy")],
    **documented(None, ItemInfo, refusals=(404,)),
)
async def item_info(
    request: Request, policy: str, item: Annotated[str, Path(min_length=1, max_length=256)]
) -> Response:
    """The fields of an item that count now, and how often it was shown and clicked, where the policy counts that."""
    engine = service_of(request).engine
    live = engine.policy(policy)
    known = await asyncio.to_thread(engine.catalog.find, live.row.policy, "items", [item])
    with live.lock:
        counts = live.runtime.counters.of(item) if item in live.runtime.counters else None
    if item not in known and counts is None:
        raise ServiceError(
            "unknown_item", f"item: nothing is known of {item[:80]!r} in this policy", status=404, field="item"
        )
    return answer({"id": item, "fields": known.get(item, {}), "counts": counts})
