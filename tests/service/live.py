"""A server in a thread, on a port of its own, with a client: requests go through real sockets."""

from __future__ import annotations

import threading
from typing import Any

import httpx
import uvicorn

from fairexp.service.http.server import server_config
from fairexp.service.http.service import Service
from tests.waiting import SECONDS, until


class Live:
    """A running service; `client` speaks to it."""

    def __init__(self, service: Service, **options: Any) -> None:
        self.service = service
        config = server_config(service)
        self.app: Any = config.app
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, daemon=True)
        self._thread.start()
        until(lambda: self._server.started, "the server did not start")
        self.port = self._server.servers[0].sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.client = httpx.Client(base_url=self.url, timeout=SECONDS, **options)

    def wait_ready(self) -> None:
        """Return when the service says that it is ready."""
        until(lambda: self.client.get("/readyz").status_code == 200, "the service did not become ready")

    def stop(self) -> None:
        """Shut down as a signal would, and wait for it; once is enough."""
        self.client.close()
        self._server.should_exit = True
        self._thread.join(SECONDS)
        assert not self._thread.is_alive(), "the server did not stop"


class Standstill:
    """Within the block, calls of a method wait until `go_on`, or the end of the block."""

    def __init__(self, owner: Any, method: str) -> None:
        self._owner, self._method, self._original = owner, method, getattr(owner, method)
        self._going = threading.Event()
        self.entered = threading.Event()

    def __enter__(self) -> Standstill:
        setattr(self._owner, self._method, self._wait)
        return self

    def __exit__(self, *_: object) -> None:
        self.go_on()

    def go_on(self) -> None:
        setattr(self._owner, self._method, self._original)
        self._going.set()

    def _wait(self, *arguments: Any, **options: Any) -> Any:
        self.entered.set()
        assert self._going.wait(SECONDS)
        return self._original(*arguments, **options)
