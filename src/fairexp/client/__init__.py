"""Speak to a fairexp service from Python: `Client`, and `AsyncClient` with the same methods to await."""

from fairexp.client.asynchronous import AsyncClient
from fairexp.client.calls import ClientError
from fairexp.client.synchronous import Client

__all__ = ["AsyncClient", "Client", "ClientError"]
