"""Speak to a fairexp service from Python: `Client`, and `AsyncClient` with the same methods to await.

`calls` says how each method asks, and what form of `answers` it gives; the clients add the sending.
"""

from fairexp.client.asynchronous import AsyncClient
from fairexp.client.calls import ClientError
from fairexp.client.synchronous import Client

__all__ = ["AsyncClient", "Client", "ClientError"]
