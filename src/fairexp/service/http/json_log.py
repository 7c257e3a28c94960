"""The log: one line of JSON per event, with the request's id."""

from __future__ import annotations

import contextvars
import logging
import sys
from typing import Any

import orjson

REQUEST_ID: contextvars.ContextVar[str] = contextvars.ContextVar("request_id", default="-")
REQUESTS = logging.getLogger("fairexp.service.requests")
"""One line per request: a warning where it was refused."""


class JsonLines(logging.Formatter):
    """A record as one line of JSON: time, level, message, request id, and facts."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "at": round(record.created, 3),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
        }
        request_id = REQUEST_ID.get()
        if request_id != "-":
            line["request_id"] = request_id
        line.update(getattr(record, "facts", {}))
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return orjson.dumps(line, default=str).decode()


def log_as_json(level: int = logging.INFO, *, requests: bool = True) -> None:
    """Write the service's log, and uvicorn's, to stderr as lines of JSON; of `requests` at least those refused."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name in ("fairexp.service", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(level)
        logger.propagate = False
    REQUESTS.setLevel(logging.NOTSET if requests else max(level, logging.WARNING))
