"""Speak to a fairexp service from Python: `Client`, and `AsyncClient` with the same methods to await.

`calls` says how each method asks, and what form of `answers` it gives; the clients add the sending.
"""

from fairexp.extras import require

require("client", "fairexp.client", "httpx", "msgspec")

from fairexp.client.asynchronous import AsyncClient  # noqa: E402
from fairexp.client.calls import ClientError  # noqa: E402
from fairexp.client.synchronous import Client  # noqa: E402

__all__ = ["AsyncClient", "Client", "ClientError"]
