"""How uvicorn runs the application: the same for the command line, the tests and the benchmarks."""

from __future__ import annotations

from functools import partial
from typing import Any, cast

import uvicorn

from fairexp.service.http.app import create_app
from fairexp.service.http.protocol import LimitedProtocol
from fairexp.service.http.service import Service

BACKLOG = 256
"""Connections that the system takes before we do; fewer than the files that are kept for other things."""


def server_config(service: Service, *, host: str = "127.0.0.1", port: int = 0) -> uvicorn.Config:
    """The configuration of a server around `service`."""
    return uvicorn.Config(
        create_app(service),
        host=host,
        port=port,
        http=cast(Any, partial(LimitedProtocol, guests=service.connections)),
        ws="none",
        lifespan="on",
        backlog=BACKLOG,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=True,  # the address is the forwarded one, where a proxy of FORWARDED_ALLOW_IPS (here) forwards
        timeout_graceful_shutdown=int(service.settings.drain_seconds) or 1,
    )
