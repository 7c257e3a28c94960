"""The application: routes, errors and documentation around a service."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request, Response

from fairexp import __version__
from fairexp.service.http.answers import Envelope, add_error_handlers, answer
from fairexp.service.http.openapi import add_openapi
from fairexp.service.http.permission import allow
from fairexp.service.http.routes import items, metarank, operations, page, policies, ranking, ubi, users
from fairexp.service.http.service import Service


def create_app(service: Service) -> FastAPI:
    """An ASGI application that serves `service`; it starts and stops with the server around it."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        service.start()
        yield
        await service.stop()

    app = FastAPI(
        title="fairexp",
        version=__version__,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
    )
    app.state.service = service
    for part in (ranking, policies, users, items, metarank, ubi, operations, page):
        app.router.routes.extend(part.router.routes)  # plain routes, so that a test can walk them all

    @app.get("/openapi.json", dependencies=[allow("public")], include_in_schema=False)
    async def openapi(request: Request) -> Response:
        document: Any = app.openapi()
        return answer(document)

    add_error_handlers(app)
    add_openapi(app)
    app.add_middleware(Envelope, metrics=service.metrics)
    return app
