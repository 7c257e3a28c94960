"""What a key permits: the decision that each route declares, and what routes ask about policies one by one."""

from __future__ import annotations

from typing import Any

from fastapi import Request
from fastapi.params import Depends

from fairexp.service.http.keys import PUBLIC, StrangerError
from fairexp.service.http.service import service_of
from fairexp.service.problems import ServiceError
from fairexp.service.store.base import Key

EACH = "each policy"
"""About a route that comes upon policies by itself, and asks `sees` or `check_policy` about each of them."""

ALL = "all policies"
"""About a route that tells of all policies at once: not for keys that are limited to some."""


def allow(role: str, about: str = "") -> Depends:
    """The decision on a route: `public`, or the role that a key needs, and `about` which policies it must be for.

    `about` is the path's parameter that names the policy, or `EACH`, or `ALL`.
    """
    if (role == PUBLIC) != (about == ""):
        raise ValueError(f"route: a role needs a decision about policies, and `public` none; got {role!r}, {about!r}")

    async def decide(request: Request) -> None:
        header = request.headers.get("authorization", "")
        token = header[7:] if header[:7].lower() == "bearer " else request.headers.get("x-api-key")
        service = service_of(request)
        address = "" if request.client is None else request.client.host
        try:
            key = service.access.check(role, token=token, headers=request.headers, address=address)
        except StrangerError:
            request.scope["untold"] = True  # the log has a line for all of these
            raise
        request.state.key = key
        request.scope["facts"] = {"key": "-" if key is None else key.id}
        if about == ALL and key is not None and key.policies:
            raise not_allowed("all policies")
        if about not in ("", EACH, ALL):
            check_policy(request, request.path_params[about])
        if role != PUBLIC and not (service.declared and service.engine.ready):
            raise ServiceError("starting", "the service is starting; try again shortly", status=503, retry_after=1.0)

    decision: Any = decide
    decision.decision = (role, about)
    return Depends(decision)


def sees(request: Request, policy: str) -> bool:
    """Whether whoever asks may know of this policy."""
    key: Key | None = request.state.key
    return key is None or key.sees(policy)


def check_policy(request: Request, policy: str) -> None:
    """A 403 unless whoever asks may use this policy, whether there is one of that name or not."""
    if not sees(request, policy):
        raise not_allowed(f"the policy {policy[:80]!r}")


def not_allowed(what: str) -> ServiceError:
    """The 403 for a key that is limited to other policies."""
    return ServiceError("not_allowed", f"authorization: this key is not for {what}", status=403, field="authorization")


def who(request: Request) -> str:
    """Who asks, for records of what was done: the key's id and name, or `open`."""
    key: Key | None = request.state.key
    return "open" if key is None else f"key {key.id} ({key.name})"
