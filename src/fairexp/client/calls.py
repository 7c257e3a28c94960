"""What both clients share: how a call becomes a request, and how an answer becomes a result or an error."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np
from numpy.typing import ArrayLike

from fairexp.errors import ArgumentError, FairexpError

Event = Mapping[str, Any]


class Call(NamedTuple):
    """An HTTP request."""

    method: str
    path: str
    body: Any = None
    query: dict[str, Any] | None = None


class ClientError(FairexpError):
    """The service refused, or did not answer (`status` is 0 then). `code` and `field` are the service's own."""

    def __init__(self, message: str, *, status: int, code: str, field: str | None, request_id: str | None) -> None:
        self.status, self.code, self.field, self.request_id = status, code, field, request_id
        super().__init__(message)


def rank_call(
    policy: str,
    ids: Sequence[str],
    features: ArrayLike,
    *,
    groups: Sequence[str] | None = None,
    k: int | None = None,
    query_id: str | None = None,
    user: str | None = None,
    session: str | None = None,
    request_id: str | None = None,
    explain: bool = False,
) -> Call:
    """A rank request with `features` (n, d) as base64.

    >>> rank_call("shop", ["a", "b"], [[1.0], [2.0]]).body["features"]
    'AACAPwAAAEA='
    """
    matrix = np.ascontiguousarray(features, dtype="<f4")
    if matrix.ndim != 2 or len(matrix) != len(ids):
        raise ArgumentError("features", f"shape {matrix.shape}", f"a matrix with {len(ids)} rows, one per id")
    body: dict[str, Any] = {"ids": list(ids), "features": base64.b64encode(matrix.tobytes()).decode()}
    extra = {"groups": groups, "k": k, "query_id": query_id, "user": user, "session": session}
    extra["request_id"] = request_id
    body.update({key: value for key, value in extra.items() if value is not None})
    return Call("POST", policy_path(policy, "rank"), body, {"explain": "true"} if explain else None)


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


def feedback_call(ranking_id: str, events: Sequence[Event], *, final: bool = False) -> Call:
    """Feedback for one ranking."""
    return Call("POST", "/v1/feedback", {"ranking_id": ranking_id, "events": [dict(e) for e in events], "final": final})


def erase_call(user: str, *, dry_run: bool = False) -> Call:
    """Erase what names a user.

    >>> erase_call("a/b").path
    '/v1/users/a%2Fb'
    """
    return Call("DELETE", f"/v1/users/{quote(user, safe='')}", query={"dry_run": str(dry_run).lower()})


def batch_call(batch: Sequence[Mapping[str, Any]]) -> Call:
    """Feedback for several rankings."""
    return Call("POST", "/v1/feedback", {"batch": [dict(each) for each in batch]})


def result_of(status: int, body: Any) -> Any:
    """The body of a good answer; a `ClientError` for any other."""
    if status < 400:
        return body
    error = body.get("error", {}) if isinstance(body, dict) else {}
    raise ClientError(
        error.get("message") or f"the service answered {status}",
        status=status,
        code=error.get("code", "unknown"),
        field=error.get("field"),
        request_id=error.get("request_id"),
    )


def unreached(error: Exception, url: str) -> ClientError:
    """The service did not answer."""
    return ClientError(
        f"url: {url} does not answer ({error})", status=0, code="unreachable", field=None, request_id=None
    )
