"""The store of a service, opened by a command beside a server that may be at work on it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairexp.service.store import Store


@contextmanager
def opened_store(address: str) -> Iterator[Store]:
    """The store at an address, beside a server that may be at work on it."""
    from fairexp.service.store import open_store

    store = open_store(address)
    store.open(serving=False)
    try:
        yield store
    finally:
        store.close()


def whoever() -> str:
    """Who is at the command line, for the record."""
    from getpass import getuser

    try:
        return f"command line ({getuser()})"
    except (KeyError, OSError):  # there need not be a user of that number
        return "command line"
