"""What is made of events in others' formats: a verdict on each, whatever becomes of the others.

A verdict is what learning says ("learned", "noted", "duplicate", ...), "known" for a ranking of ours, "ignored" with a
`reason` for what is taken and changes nothing, or "refused" with the error.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any

from fastapi import Request

from fairexp.service.engine.events import EventError, GivenEvent
from fairexp.service.http.answers import problem
from fairexp.service.http.permission import sees
from fairexp.service.http.service import service_of
from fairexp.service.problems import ServiceError
from fairexp.service.requests.reports import Reported
from fairexp.service.store.base import Fields, Table

Verdict = dict[str, Any]
NOBODY = "-"
"""The policy under which events are counted that belong to none."""


async def verdicts_on(request: Request, many: bool, events: Sequence[Reported]) -> list[Verdict]:
    """A verdict on each event, in the order given; of a single event a refusal is raised.

    Events about one ranking are taken in their order. If the store, or a policy, could not take something for now, all
    is a 503: sending it again is right, because what was kept counts once.
    """
    about: dict[str | None, list[int]] = {}
    for number, event in enumerate(events):
        if event.kind not in ("item", "user"):
            about.setdefault(event.ranking, []).append(number)
    found = await _stored(request, many, events)

    async def take(numbers: Iterable[int]) -> None:
        for number in numbers:
            try:
                found[number] = await _verdict(request, events[number])
            except ServiceError as error:
                if not many or error.status >= 500:
                    raise
                found[number] = _refused(error)

    outcomes = await asyncio.gather(*(take(numbers) for numbers in about.values()), return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
    return [{"id": event.id, **found[number]} for number, event in enumerate(events)]


async def _stored(request: Request, many: bool, events: Sequence[Reported]) -> dict[int, Verdict]:
    """Verdicts on fields of items and users, by number: each policy that keeps items, and that the key is for, keeps
    them, all in one write."""
    service, found = service_of(request), dict[int, Verdict]()
    if not any(event.kind in ("item", "user") for event in events):
        return found
    tables: dict[Table, list[Fields]] = {"items": [], "users": []}
    live = [each for each in service.engine.policies() if sees(request, each.row.name)]
    policies = [each.row.name for each in live if each.problem is None and each.runtime.spec.items is not None]
    for number, event in enumerate(events):
        if event.kind not in ("item", "user"):
            continue
        problem = service.engine.catalog.too_large(event.fields, f"[{number}].fields" if many else "fields")
        if problem is not None and not many:
            raise problem
        if problem is not None:
            found[number] = _refused(problem)
        elif not policies:
            found[number] = _ignored(request, "no_items")
        else:
            since = service.engine.clock() if event.at is None else event.at
            tables["items" if event.kind == "item" else "users"].append(Fields(event.item or "", event.fields, since))
            found[number] = {"verdict": "stored"}
    kept = [service.keep_fields(name, table, given) for name in policies for table, given in tables.items() if given]
    await asyncio.gather(*kept)
    return found


async def _verdict(request: Request, event: Reported) -> Verdict:
    if event.problem is not None:
        code, message, status, field = event.problem
        return _refused(ServiceError(code, message, status=status, field=field))
    if event.ranking is None:
        return _ignored(request, "no_ranking")
    engine = service_of(request).engine
    named = await asyncio.to_thread(engine.rankings_named, event.ranking)
    # Rankings of policies that the key is not for are as if there were none.
    rankings = [each for each in named if sees(request, engine.policy_of(each).row.name)]
    if not rankings:
        return _ignored(request, "unknown_ranking")
    given = GivenEvent(event.id, event.type, event.item, event.position, at=event.at)
    wanted = [given] if event.kind == "interaction" else _judgements(event)
    verdicts = [await _learn(request, ranking, each) for ranking in rankings for each in wanted]
    return min(verdicts, key=lambda each: each["verdict"] != "learned", default={"verdict": "known"})


def _judgements(event: Reported) -> list[GivenEvent]:
    """What a ranking event says about its items: an explicit label is an event of type `label`, weighing as much."""
    return [GivenEvent(f"label:{item}", "label", item, weight=label) for item, label in event.labels.items()]


async def _learn(request: Request, ranking: str, given: GivenEvent) -> Verdict:
    service = service_of(request)
    try:
        return {"verdict": (await service.learn(ranking, [given])).status}
    except EventError as error:
        return _ignored(request, error.reason, service.engine.policy_of(ranking).row.name)
    except ServiceError as error:
        if error.code != "policy_damaged":
            raise
        return _refused(error)  # sending it again would not help, and holds up no other


def _ignored(request: Request, reason: str, policy: str = NOBODY) -> Verdict:
    service_of(request).metrics.ignored(policy, reason)
    return {"verdict": "ignored", "reason": reason}


def _refused(error: ServiceError) -> Verdict:
    return {"verdict": "refused", "error": problem(error)}


def told(verdicts: Sequence[Verdict], seconds: float) -> dict[str, Any]:
    """The answer to events: how many were taken, and each one's verdict."""
    refused = sum(each["verdict"] == "refused" for each in verdicts)
    return {
        "accepted": len(verdicts) - refused,
        "status": "refused" if refused else "ok",
        "tookMillis": int(1000 * seconds),
        "updated": sum(each["verdict"] in ("learned", "stored") for each in verdicts),
        "ignored": sum(each["verdict"] == "ignored" for each in verdicts),
        "refused": refused,
        "results": verdicts,
    }
