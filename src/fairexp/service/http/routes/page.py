"""The page at `/`, its files, and its charts."""

from __future__ import annotations

import asyncio
from functools import lru_cache
from importlib.resources import files
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response

from fairexp.service.http.answers import answer
from fairexp.service.http.openapi import documented
from fairexp.service.http.permission import allow
from fairexp.service.http.routes.policies import Rounds, Seconds
from fairexp.service.http.schemas import ChartsAnswer
from fairexp.service.http.service import Service, service_of
from fairexp.service.problems import ServiceError
from fairexp.service.views.fairness import fairness_report
from fairexp.service.views.reports import policy_report

router = APIRouter()
POINTS = 120
FILES = {
    "page.js": "text/javascript",
    "words.js": "text/javascript",
    "drawing.js": "text/javascript",
    "page.css": "text/css",
}
HEADERS = {
    # Everything comes from here, and nothing is evaluated; Vega styles its drawings inline.
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; img-src data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


@router.get("/", dependencies=[allow("public")], include_in_schema=False)
async def page(request: Request) -> Response:
    """The page; it holds no data, and asks for them with the visitor's key."""
    return Response(await asyncio.to_thread(_page), media_type="text/html", headers=HEADERS)


@router.get("/static/{name}", dependencies=[allow("public")], include_in_schema=False)
async def static(request: Request, name: str) -> Response:
    """A script or a style of the page."""
    if name == "vega.js":
        return _vega(request)
    if name not in FILES:
        raise ServiceError("not_found", "there is no such file", status=404)
    return Response(_file(name), media_type=FILES[name], headers={"Cache-Control": "no-cache"})


@router.get(
    "/v1/policies/{policy}/charts",
    dependencies=[allow("read", "policy")],
    **documented(None, ChartsAnswer, refusals=(404,)),
)
async def charts(
    request: Request,
    policy: str,
    theme: Annotated[Literal["light", "dark"], Query()] = "light",
    rounds: Rounds = None,
    seconds: Seconds = None,
) -> Response:
    """The page's charts in Vega-Lite, at most a few seconds old."""
    service = service_of(request)
    service.engine.policy(policy)
    return answer({"charts": await asyncio.to_thread(_charts, service, policy, theme, rounds, seconds)})


def _charts(service: Service, policy: str, theme: str, rounds: int | None, seconds: float | None) -> Any:
    from fairexp.service.views.page.charts import live_charts

    live = service.engine.policy(policy)
    runtime = live.runtime

    def make() -> dict[str, Any]:
        since = None if seconds is None else service.engine.clock() - seconds
        report = fairness_report(live, points=POINTS, rounds=rounds, since=since)
        theta = policy_report(live, kept=[])["theta"]
        with live.lock:
            reliability = live.runtime.ranker.reliability()
        took = service.metrics.recent_seconds(policy)
        return live_charts(report, theta=theta, reliability=reliability, seconds=took, theme=theme)

    return service.charts.get((policy, theme, rounds, seconds), runtime.version, runtime.totals.rounds, make)


@lru_cache
def _page() -> str:
    from fairexp.charts.pages import render

    return render("service/views/page/index.html", title="fairexp")


@lru_cache
def _file(name: str) -> bytes:
    return files("fairexp.service.views.page").joinpath(name).read_bytes()


def _vega(request: Request) -> Response:
    """Vega's script, as it was made before the service was ready: nothing is computed here."""
    script = service_of(request).script
    if script is None:
        raise ServiceError(
            "no_charts", "the script that draws charts is not there; the server's log says why", status=503
        )
    accepted = request.headers.get("accept-encoding", "")
    coding, content = ("gzip", script.compressed) if "gzip" in accepted else ("identity", script.plain)
    headers = {"Cache-Control": "max-age=86400", "ETag": f'"{script.digest}-{coding}"', "Vary": "Accept-Encoding"}
    if headers["ETag"] in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    if coding == "gzip":
        headers["Content-Encoding"] = coding
    return Response(content, media_type="text/javascript", headers=headers)
