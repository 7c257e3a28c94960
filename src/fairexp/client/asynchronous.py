"""The client for asyncio."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import httpx
from numpy.typing import ArrayLike

from fairexp.client.calls import (
    Call,
    Event,
    batch_call,
    erase_call,
    feedback_call,
    flags,
    policy_path,
    rank_call,
    result_of,
    unreached,
)


class AsyncClient:
    """What `Client` does, to be awaited.

    ```python
    async with AsyncClient("http://localhost:8000", key="fx_...") as client:
        ranking = await client.rank("shop", ["a", "b"], [[1.0, 0.2], [0.3, 0.9]], groups=["small", "large"])
        await client.feedback(ranking["ranking_id"], [{"id": "e1", "type": "click", "item": "b"}])
    ```
    """

    def __init__(self, url: str, *, key: str | None = None, timeout_seconds: float = 10.0) -> None:
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        self.url = url
        self._http = httpx.AsyncClient(base_url=url, headers=headers, timeout=timeout_seconds)

    async def rank(self, policy: str, ids: Sequence[str], features: ArrayLike, **options: Any) -> dict[str, Any]:
        """Rank candidates with `features` (n, d); options: groups, k, query_id, user, session, explain, request_id.

        Asking again with the same `request_id` gives the same ranking again, and nothing is charged twice.
        """
        return dict(await self._send(rank_call(policy, ids, features, **options)))

    async def feedback(self, ranking_id: str, events: Sequence[Event], *, final: bool = False) -> dict[str, Any]:
        """Report what users did with a ranking; what was made of it."""
        return dict((await self._send(feedback_call(ranking_id, events, final=final)))["results"][0])

    async def feedback_batch(self, batch: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Report on several rankings, each with `ranking_id` and `events`; one result each."""
        return list((await self._send(batch_call(batch)))["results"])

    async def put_policy(
        self, policy: str, spec: Mapping[str, Any], *, dry_run: bool = False, discard: bool = False
    ) -> dict[str, Any]:
        """Declare or change a policy; `dry_run` says what would happen, `discard` lets go of what would be lost."""
        query = flags(dry_run=dry_run, discard=discard)
        return dict(await self._send(Call("PUT", policy_path(policy), dict(spec), query)))

    async def roll_back(self, policy: str, version: int, *, dry_run: bool = False) -> dict[str, Any]:
        """Go on from the state that an earlier version of a policy ended with."""
        query = {**flags(dry_run=dry_run), "version": version}
        return dict(await self._send(Call("POST", policy_path(policy, "rollback"), query=query)))

    async def reset(self, policy: str, what: Sequence[str], *, dry_run: bool = False) -> dict[str, Any]:
        """Start a policy anew with its "model", its "ledger", or both."""
        query = {**flags(dry_run=dry_run), "what": list(what)}
        return dict(await self._send(Call("POST", policy_path(policy, "reset"), query=query)))

    async def delete_policy(self, policy: str, *, dry_run: bool = False, discard: bool = False) -> dict[str, Any]:
        """Put an end to a policy and to everything that was kept of it."""
        query = flags(dry_run=dry_run, discard=discard)
        return dict(await self._send(Call("DELETE", policy_path(policy), query=query)))

    async def actions(self, *, limit: int = 100, before: int | None = None) -> list[dict[str, Any]]:
        """What administrators did, newest first, below the number `before` if given."""
        query = {"limit": limit} if before is None else {"limit": limit, "before": before}
        return list((await self._send(Call("GET", "/v1/actions", query=query)))["actions"])

    async def policies(self) -> list[dict[str, Any]]:
        """All policies."""
        return list((await self._send(Call("GET", "/v1/policies")))["policies"])

    async def policy(self, policy: str) -> dict[str, Any]:
        """One policy and where it stands."""
        return dict(await self._send(Call("GET", policy_path(policy))))

    async def fairness(self, policy: str, *, points: int = 100, recent: bool = False) -> dict[str, Any]:
        """Exposure and unfairness, with history."""
        query = {"points": points, "recent": str(recent).lower()}
        return dict(await self._send(Call("GET", policy_path(policy, "fairness"), query=query)))

    async def ranking(self, policy: str, ranking_id: str) -> dict[str, Any]:
        """A recorded ranking: what was shown, why, and what came back."""
        return dict(await self._send(Call("GET", policy_path(policy, "rankings", ranking_id))))

    async def erase(self, user: str, *, dry_run: bool = False) -> int:
        """Erase what names a user; how many rankings that touched, or would touch."""
        return int((await self._send(erase_call(user, dry_run=dry_run)))["rankings"])

    async def ready(self) -> bool:
        """Whether the service is ready."""
        try:
            return (await self._http.get("/readyz")).status_code == 200
        except httpx.HTTPError:
            return False

    async def close(self) -> None:
        """Let go of connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _send(self, call: Call) -> Any:
        try:
            answer = await self._http.request(call.method, call.path, json=call.body, params=call.query)
        except httpx.HTTPError as error:
            raise unreached(error, self.url) from error
        is_json = answer.headers.get("content-type", "").startswith("application/json")
        return result_of(answer.status_code, answer.json() if is_json else None)
