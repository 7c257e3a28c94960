"""HTTP's edges: reading bodies with limits, one success shape, one error shape, and a request id on everything."""

from __future__ import annotations

import asyncio
import logging
import math
import re
import secrets
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import TYPE_CHECKING, Any

import orjson
from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from fairexp.errors import ArgumentError, FairexpError
from fairexp.service.http.json_log import REQUEST_ID, REQUESTS
from fairexp.service.problems import ServiceError, misfit
from fairexp.service.requests.budget import Arrival, Budget
from fairexp.validation_messages import found_by_pydantic

if TYPE_CHECKING:
    from fastapi import FastAPI

    from fairexp.service.http.metrics import Metrics

LOG = logging.getLogger("fairexp.service")
BODY_SECONDS = 30.0
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
Message = MutableMapping[str, Any]
REPEATED = {"X-Repeated": "true"}
"""The header of an answer that was given before, to a request with the same id."""


def answer(content: Any, *, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Content as JSON, arrays of numpy included."""
    return Response(
        orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY),
        status_code=status,
        media_type="application/json",
        headers=headers,
    )


async def read_body(request: Request, limit: int, setting: str, *, budget: Budget, arrival: Arrival) -> bytes:
    """The whole body, or a 413 as soon as it is too long, or a 408 if it does not come, or a 503 for lack of memory."""
    declared = request.headers.get("content-length", "0")
    if declared.isdecimal() and (len(declared) > 18 or int(declared) > limit):
        raise _too_long(limit, setting)
    parts = []
    try:
        async with asyncio.timeout(BODY_SECONDS) as arrival.deadline:
            async for part in request.stream():
                parts.append(part)
                if arrival.size + len(part) > limit:
                    raise _too_long(limit, setting)
                budget.add(arrival, len(part))
    except TimeoutError:
        if arrival.dropped:
            raise budget.problem() from None
        raise ServiceError(
            "body_too_slow", f"body: not here after {BODY_SECONDS:g} s", status=408, field="body"
        ) from None
    arrival.whole = True
    return b"".join(parts)


def _too_long(limit: int, setting: str) -> ServiceError:
    message = f"body: at most {limit} bytes (setting {setting})"
    if setting == "max_body_bytes":
        message += "; features as base64 take about a quarter of what JSON numbers do"
    return ServiceError("body_too_large", message, status=413, field="body")


def problem(error: ServiceError) -> dict[str, Any]:
    """The inside of the error shape."""
    return {"code": error.code, "message": str(error), "field": error.field, "request_id": REQUEST_ID.get()}


def _refused(error: ServiceError) -> Response:
    headers = {}
    if error.retry_after is not None:
        headers["Retry-After"] = str(max(math.ceil(error.retry_after), 1))
    if error.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return answer({"error": problem(error)}, status=error.status, headers=headers)


def add_error_handlers(app: FastAPI) -> None:
    """Every error, ours or not, in the one shape; nothing internal in it."""

    async def ours(request: Request, error: Exception) -> Response:
        if isinstance(error, ServiceError):
            return _refused(error)
        if isinstance(error, ArgumentError):
            field = error.argument.removeprefix("query.")
            return _refused(ServiceError("invalid", str(error), field=field))
        LOG.exception("not foreseen", exc_info=error)
        return _refused(_internal())

    async def parameters(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        errors = [{**each, "loc": each["loc"][1:]} for each in error.errors()]  # they begin with "query" or "path"
        return _refused(misfit(found_by_pydantic(errors)))

    async def http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        code = {404: "not_found", 405: "method_not_allowed"}.get(error.status_code, "http_error")
        response = _refused(ServiceError(code, str(error.detail), status=error.status_code))
        response.headers.update(error.headers or {})
        return response

    async def gone(request: Request, error: Exception) -> Response:
        return _refused(ServiceError("client_gone", "body: the connection closed before it was whole", status=400))

    app.add_exception_handler(FairexpError, ours)
    app.add_exception_handler(RequestValidationError, parameters)
    app.add_exception_handler(HTTPException, http)
    app.add_exception_handler(ClientDisconnect, gone)


def _internal() -> ServiceError:
    return ServiceError("internal", "something went wrong here; the server's log has it under this id", status=500)


class Envelope:
    """The outermost layer: a request id, security headers, a line in the log, and a shape for what nobody foresaw.

    What does not say otherwise is stored by no browser and no proxy: most answers name users or what they were shown.
    """

    def __init__(self, app: Callable[..., Awaitable[None]], *, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Message, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        method = scope["method"]
        if method == "HEAD":  # as GET; the server sends no body, because its own scope goes on to say HEAD
            scope = {**scope, "method": "GET"}
        request = Request(scope)
        given = request.headers.get("x-request-id", "")
        request_id = given if _REQUEST_ID.fullmatch(given) else secrets.token_hex(8)
        token = REQUEST_ID.set(request_id)
        started, status = time.perf_counter(), 0

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] += [(b"x-request-id", request_id.encode()), (b"x-content-type-options", b"nosniff")]
                if all(name.lower() != b"cache-control" for name, _ in message["headers"]):
                    message["headers"].append((b"cache-control", b"no-store"))
            await send(message)

        try:
            await self._app(scope, receive, send_with_headers)
        except Exception:
            LOG.exception("not foreseen")
            if status:
                raise
            await _refused(_internal())(scope, receive, send_with_headers)
        finally:
            route = getattr(scope.get("route"), "path", "-")
            self._metrics.requests.labels(route, str(status or 499)).inc()
            self._log(request, method, route, status, time.perf_counter() - started)
            REQUEST_ID.reset(token)

    def _log(self, request: Request, method: str, route: str, status: int, seconds: float) -> None:
        level = logging.WARNING if status >= 400 else logging.INFO
        if route in ("/healthz", "/readyz") or (route == "/metrics" and status < 400):
            level = logging.DEBUG
        if not REQUESTS.isEnabledFor(level) or request.scope.get("untold"):
            return
        facts = {"method": method, "route": route, "status": status, "ms": round(1000 * seconds, 2)}
        facts.update(request.scope.get("facts", {}))
        REQUESTS.log(level, "request", extra={"facts": facts})
