"""Items: fields that are kept with a policy, and what is known of one."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter, Request, Response

from fairexp.service.http.answers import answer
from fairexp.service.http.ids import Id
from fairexp.service.http.openapi import documented
from fairexp.service.http.permission import allow
from fairexp.service.http.schemas import ForgottenItem, ItemInfo, ItemsAnswer
from fairexp.service.http.service import Service, service_of
from fairexp.service.problems import ServiceError
from fairexp.service.requests.decode import read_items
from fairexp.service.requests.forms import FieldsGiven, ItemsRequest
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
    "/v1/policies/{policy}/items",
    dependencies=[allow("read", "policy")],
    **documented(None, ItemInfo, refusals=(404,)),
)
@router.get(
    "/v1/policies/{policy}/items/{item:id}",
    dependencies=[allow("read", "policy")],
    **documented(None, ItemInfo, refusals=(404,)),
)
async def item_info(request: Request, policy: str, item: Id) -> Response:
    """The fields of an item that count now, and how often it was shown and clicked, where the policy counts that.

    A path does not carry every id whole (`..`, say): a query does.
    """
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


@router.delete(
    "/v1/policies/{policy}/items",
    dependencies=[allow("feedback", "policy")],
    **documented(None, ForgottenItem, refusals=(404,)),
)
async def forget_item(request: Request, policy: str, item: Id) -> Response:
    """Forget the fields of an item; whether there were any. What was shown of it, and its counters, stay."""
    service = service_of(request)
    live = service.engine.policy(policy)
    had = item in await asyncio.to_thread(service.engine.catalog.find, live.row.policy, "items", [item])
    await service.forget_item(policy, item)
    return answer({"id": item, "forgotten": had})
