"""HTTP on a connection, with limits: on the head of a request, on waiting, and one shape for what cannot be read."""

from __future__ import annotations

import asyncio
import re
import secrets
from typing import Any

import httptools
import orjson
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from fairexp.service.http.connections import Connections

MOST_PIPELINED = 16
"""Requests that may come before the first of them is answered."""


_UPGRADE = re.compile(rb"\r\nupgrade:", re.IGNORECASE)


class LimitedProtocol(HttpToolsProtocol):
    """uvicorn's protocol; a connection is at rest until the head of a request is whole, and again once it is answered.

    `due` is when what it waits for must have come: the head, the next request, the rest of a body that was answered
    early, or the other side taking the answer.
    """

    def __init__(self, *arguments: Any, guests: Connections, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._guests = guests
        self._settings = guests.settings
        self.due: float | None = None
        self._waits_for_head = True
        self._resting = True
        self._whole = True
        self._begun = False
        self._head = self._unaccounted = self._hosts = 0
        self._problem: tuple[int, str, str] | None = None

    # The connection

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if not self._guests.admit(self):
            self._refuse(503, "overloaded", "connection: too many are at work; try again shortly")
            return
        self.due = self._guests.clock() + self._settings.header_seconds

    def connection_lost(self, exc: Exception | None) -> None:
        self.due = None
        self._guests.leave(self)
        super().connection_lost(exc)

    def late(self) -> None:
        """Too much time has passed: say so if a request was begun, and close."""
        if self.flow.write_paused or self.transport.is_closing() or not self._resting:
            self._guests.note("stalled")
            self.transport.abort()
        elif self._begun and self._waits_for_head:
            self._guests.note("head_too_slow")
            seconds = self._settings.header_seconds
            self._refuse(408, "head_too_slow", f"headers: not here after {seconds:g} s (setting header_seconds)")
        else:
            self._guests.note("idle")
            self._close()

    def make_room(self) -> None:
        """Close: another needs the place more."""
        self.transport.abort()

    def _close(self) -> None:
        self.due = self._guests.clock() + self._settings.header_seconds  # for what is written already
        self.transport.close()

    # What comes in

    def data_received(self, data: bytes) -> None:
        self._unset_keepalive_if_required()
        if self.transport.is_closing() or self.parser is None:
            return
        if self._resting and not self._begun:
            self._begun = True
            if self.cycle is not None:  # a new connection has its time from the start
                self.due = self._guests.clock() + self._settings.header_seconds
        self._unaccounted += len(data)
        try:
            self.parser.feed_data(_without_upgrade(data) if self._waits_for_head else data)
        except httptools.HttpParserUpgrade:
            pass  # answered as any other request
        except httptools.HttpParserError:
            status, code, message = self._problem or (400, "not_http", "request: expected HTTP/1.1, got something else")
            self._guests.note(code)
            self._refuse(status, code, message)
            return
        if self._unaccounted > self._settings.max_header_bytes:
            self._guests.note("head_too_large")
            self._refuse(*self._too_large())

    def on_message_begin(self) -> None:
        if len(self.pipeline) >= MOST_PIPELINED:
            self._give_up(400, "too_many_requests_ahead", f"request: at most {MOST_PIPELINED} ahead of their answers")
        self._head = self._unaccounted = self._hosts = 0
        self._whole = False
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count(len(name) + len(value) + 4)
        self._hosts += name.lower() == b"host"
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        least = self.parser.get_http_version() != "1.0"
        if not least <= self._hosts <= 1:
            self._give_up(400, "no_host", f"host: expected one such header, got {self._hosts or 'none'}")
        super().on_headers_complete()
        self.due = None
        self._waits_for_head = self._resting = False
        self._unaccounted = 0
        self._guests.work(self)

    def on_body(self, body: bytes) -> None:
        self._unaccounted -= 2 * len(body)  # the framing of a body may be as long as the body
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._whole = True
        super().on_message_complete()
        if self._resting:
            self._rest()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._unset_keepalive_if_required()  # `due` is in its place
        if not self.transport.is_closing() and self.cycle.response_complete:
            self._rest()

    def _rest(self) -> None:
        self._resting = True
        self._waits_for_head = self._whole
        self._begun = not self._whole  # the rest of a body that was answered early
        seconds = self._settings.idle_seconds if self._whole else self._settings.header_seconds
        self.due = self._guests.clock() + seconds
        self._guests.rest(self)

    def _count(self, size: int) -> None:
        self._head += size
        if self._head > self._settings.max_header_bytes:
            self._give_up(*self._too_large())

    def _too_large(self) -> tuple[int, str, str]:
        most = self._settings.max_header_bytes
        return 431, "head_too_large", f"headers: at most {most} bytes with the first line (setting max_header_bytes)"

    def _give_up(self, status: int, code: str, message: str) -> None:
        """Stop the parser, from within it."""
        self._problem = (status, code, message)
        raise ValueError(code)

    # What goes out

    def pause_writing(self) -> None:
        super().pause_writing()
        self.due = self._guests.clock() + self._settings.header_seconds

    def resume_writing(self) -> None:
        super().resume_writing()
        if not self._resting and not self.transport.is_closing():
            self.due = None

    def _refuse(self, status: int, code: str, message: str) -> None:
        """The one error shape, outside of any request, and the end of the connection."""
        if self.cycle is not None and not self.cycle.response_complete:
            if self.cycle.response_started:
                self.transport.abort()
                return
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        request_id = secrets.token_hex(8)
        told = {"code": code, "message": message, "field": message.partition(":")[0], "request_id": request_id}
        content = orjson.dumps({"error": told})
        headers = [
            b"content-type: application/json",
            b"content-length: %d" % len(content),
            b"x-request-id: " + request_id.encode(),
            b"x-content-type-options: nosniff",
            b"connection: close",
        ]
        if status == 503:
            headers.append(b"retry-after: 1")
        self.transport.write(STATUS_LINE[status] + b"\r\n".join(headers) + b"\r\n\r\n" + content)
        self._close()


def _without_upgrade(data: bytes) -> bytes:
    """The same with a head that offers no other protocol: the parser would take what follows it for that protocol.

    Java's client offers HTTP/2 with every request that it makes without TLS.
    """
    end = data.find(b"\r\n\r\n")
    head = data if end < 0 else data[:end]
    return _UPGRADE.sub(b"\r\nignored:", head) + data[len(head) :]
