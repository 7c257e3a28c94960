"""What both clients share: how a call becomes a request, and how an answer becomes a value or an error."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from fairexp.client.answers import (
    Action,
    Change,
    Fairness,
    FeedbackOutcome,
    Kept,
    KnownItem,
    KnownUser,
    Policy,
    PolicyLine,
    RankedList,
    Record,
)
from fairexp.errors import ArgumentError, FairexpError

Event = Mapping[str, Any]
Groups = Sequence[str] | Mapping[str, Sequence[str]]
Value = TypeVar("Value")


@dataclass(frozen=True)
class Call(Generic[Value]):
    """An HTTP request, and the form of its answer; `inside` names the one field of it that matters, if one does."""

    form: type[Value]
    method: str
    path: str
    body: Any = None
    query: dict[str, Any] | None = None
    inside: str | None = None

    def value(self, status: int, content: bytes) -> Value:
        """What a good answer says; a `ClientError` for any other."""
        if status >= 400:
            raise refusal(status, content)
        try:
            told = msgspec.json.decode(content)
            found: Value = msgspec.convert(told if self.inside is None else told[self.inside], self.form)
        except (msgspec.DecodeError, msgspec.ValidationError, KeyError, TypeError) as error:
            message = f"{self.method} {self.path}: expected an answer of fairexp's service, got another ({error})"
            raise ClientError(message, status=status, code="not_understood") from error
        return found


class ClientError(FairexpError):
    """The service refused, or did not answer (`status` is 0 then). `code` and `field` are the service's own."""

    def __init__(
        self, message: str, *, status: int, code: str, field: str | None = None, request_id: str | None = None
    ) -> None:
        self.status, self.code, self.field, self.request_id = status, code, field, request_id
        super().__init__(message)


def rank(
    policy: str,
    ids: Sequence[str],
    features: ArrayLike | None,
    *,
    fields: Sequence[Mapping[str, Any]] | None,
    groups: Groups | None,
    k: int | None,
    query_id: str | None,
    user: str | None,
    session: str | None,
    request_id: str | None,
    after: str | None,
    explain: bool,
    pinned: Mapping[str, int] | None,
    segment: str | None,
    weight: float | None,
) -> Call[RankedList]:
    """Candidates: with `features` (n, d) as base64, with `fields` by name, or by their ids alone."""
    body: dict[str, Any] = {"ids": list(ids)}
    if fields is not None:
        if features is not None or len(fields) != len(ids):
            raise ArgumentError("fields", f"{len(fields)}", f"{len(ids)}, one for each id, and no features")
        body = {"items": [{"id": name, "fields": dict(own)} for name, own in zip(ids, fields, strict=True)]}
    elif features is not None:
        body["features"] = encoded(features, n=len(ids))
    extra: dict[str, Any] = {"groups": groups, "k": k, "query_id": query_id, "user": user, "session": session}
    extra |= {"request_id": request_id, "after": after, "pinned": pinned, "segment": segment, "weight": weight}
    body.update({key: value for key, value in extra.items() if value is not None})
    return Call(RankedList, "POST", policy_path(policy, "rank"), body, flags(explain=explain))


def encoded(features: ArrayLike, *, n: int) -> str:
    """A matrix with `n` rows as the service reads it.

    >>> encoded([[1.0], [2.0]], n=2)
    'AACAPwAAAEA='
    """
    matrix = np.ascontiguousarray(features, dtype="<f4")
    if matrix.ndim != 2 or len(matrix) != n:
        raise ArgumentError("features", f"shape {matrix.shape}", f"a matrix with {n} rows, one per id")
    return base64.b64encode(matrix.tobytes()).decode()


def put_items(
    policy: str, items: Mapping[str, Mapping[str, Any]], *, users: Mapping[str, Mapping[str, Any]] | None
) -> Call[Kept]:
    """Fields by id, from now on."""
    given = {"items": items, "users": users or {}}
    body = {
        table: [{"id": name, "fields": dict(fields)} for name, fields in each.items()] for table, each in given.items()
    }
    return Call(Kept, "POST", policy_path(policy, "items"), body)


def item(policy: str, name: str) -> Call[KnownItem]:
    """What is known of an item."""
    return Call(KnownItem, "GET", policy_path(policy, "items"), query={"item": name})


def forget_item(policy: str, name: str) -> Call[bool]:
    """Forget the fields of an item."""
    return Call(bool, "DELETE", policy_path(policy, "items"), query={"item": name}, inside="forgotten")


def feedback(batch: Sequence[Mapping[str, Any]]) -> Call[list[FeedbackOutcome]]:
    """Feedback for several rankings, each with `ranking_id` and `events`."""
    return Call(
        list[FeedbackOutcome], "POST", "/v1/feedback", {"batch": [dict(each) for each in batch]}, inside="results"
    )


def feedback_on(
    ranking_id: str, events: Sequence[Event], *, final: bool, seen: int | None
) -> Call[list[FeedbackOutcome]]:
    """Feedback for one ranking; other than in a batch, what is wrong with it is an error."""
    body: dict[str, Any] = {"ranking_id": ranking_id, "events": [dict(event) for event in events], "final": final}
    body.update({} if seen is None else {"seen": seen})
    return Call(list[FeedbackOutcome], "POST", "/v1/feedback", body, inside="results")


def put_policy(policy: str, spec: Mapping[str, Any], *, dry_run: bool, discard: bool) -> Call[Change]:
    """Declare or change a policy."""
    return Call(Change, "PUT", policy_path(policy), dict(spec), flags(dry_run=dry_run, discard=discard))


def roll_back(policy: str, version: int, *, dry_run: bool) -> Call[Change]:
    """Bring back an earlier version."""
    query = {**flags(dry_run=dry_run), "version": version}
    return Call(Change, "POST", policy_path(policy, "rollback"), query=query)


def reset(policy: str, what: Sequence[str], *, dry_run: bool) -> Call[Change]:
    """Start anew with "model", "ledger" or both."""
    query = {**flags(dry_run=dry_run), "what": list(what)}
    return Call(Change, "POST", policy_path(policy, "reset"), query=query)


def delete_policy(policy: str, *, dry_run: bool, discard: bool) -> Call[Change]:
    """Put an end to a policy."""
    return Call(Change, "DELETE", policy_path(policy), query=flags(dry_run=dry_run, discard=discard))


def actions(*, limit: int, before: int | None) -> Call[list[Action]]:
    """What administrators did."""
    query = {"limit": limit} if before is None else {"limit": limit, "before": before}
    return Call(list[Action], "GET", "/v1/actions", query=query, inside="actions")


def policies() -> Call[list[PolicyLine]]:
    """All policies."""
    return Call(list[PolicyLine], "GET", "/v1/policies", inside="policies")


def policy(name: str) -> Call[Policy]:
    """One policy."""
    return Call(Policy, "GET", policy_path(name))


def fairness(policy: str, *, points: int, rounds: int | None, seconds: float | None) -> Call[Fairness]:
    """Exposure and unfairness."""
    given = {"points": points, "rounds": rounds, "seconds": seconds}
    query = {name: value for name, value in given.items() if value is not None}
    return Call(Fairness, "GET", policy_path(policy, "fairness"), query=query)


def ranking(policy: str, ranking_id: str) -> Call[Record]:
    """A recorded ranking."""
    return Call(Record, "GET", policy_path(policy, "rankings", ranking_id))


def erase(user: str, *, dry_run: bool) -> Call[int]:
    """Erase what names a user. The id is in the query: a path does not carry every id (`..`) whole.

    >>> erase("a/..", dry_run=False).query
    {'user': 'a/..'}
    """
    return Call(int, "DELETE", "/v1/users", query={"user": user, **flags(dry_run=dry_run)}, inside="rankings")


def user(name: str) -> Call[KnownUser]:
    """What is kept about a user."""
    return Call(KnownUser, "GET", "/v1/users", query={"user": name})


def policy_path(policy: str, *rest: str) -> str:
    """The path of a policy, or of something of its own.

    >>> policy_path("shop", "rankings", "1-2/3")
    '/v1/policies/shop/rankings/1-2%2F3'
    """
    return "/".join(["/v1/policies", *(quote(part, safe="") for part in (policy, *rest))])


def flags(**values: bool) -> dict[str, Any]:
    """Those that are set, as a query has them.

    >>> flags(dry_run=True, discard=False)
    {'dry_run': 'true'}
    """
    return {name: "true" for name, value in values.items() if value}


def headers(key: str | None) -> dict[str, str]:
    """What every request of a client carries."""
    return {} if key is None else {"Authorization": f"Bearer {key}"}


def refusal(status: int, content: bytes) -> ClientError:
    """What an answer other than a good one says; what stands before the service may answer in its own form."""
    try:
        error = dict(msgspec.json.decode(content)["error"])
    except (msgspec.DecodeError, KeyError, TypeError, ValueError):
        error = {}
    message = error.get("message") or f"the service answered {status}"
    told = {"field": error.get("field"), "request_id": error.get("request_id")}
    return ClientError(message, status=status, code=error.get("code", "unknown"), **told)


def unreached(error: Exception, url: str) -> ClientError:
    """The service did not answer."""
    return ClientError(f"url: {url} does not answer ({error})", status=0, code="unreachable")
