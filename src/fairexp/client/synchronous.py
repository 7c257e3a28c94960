"""The client for ordinary code."""

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


class Client:
    """A service at `url`. Requests that failed for want of a connection or a store are not repeated by themselves.

    ```python
    with Client("http://localhost:8000", key="fx_...") as client:
        ranking = client.rank("shop", ["a", "b"], [[1.0, 0.2], [0.3, 0.9]], groups=["small", "large"])
        client.feedback(ranking["ranking_id"], [{"id": "e1", "type": "click", "item": "b"}])
    ```
    """

    def __init__(self, url: str, *, key: str | None = None, timeout_seconds: float = 10.0) -> None:
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        self.url = url
        self._http = httpx.Client(base_url=url, headers=headers, timeout=timeout_seconds)

    def rank(self, policy: str, ids: Sequence[str], features: ArrayLike, **options: Any) -> dict[str, Any]:
        """Rank candidates with `features` (n, d); options: groups, k, query_id, user, session, explain, request_id.

        Asking again with the same `request_id` gives the same ranking again, and nothing is charged twice.
        """
        return dict(self._send(rank_call(policy, ids, features, **options)))

    def feedback(self, ranking_id: str, events: Sequence[Event], *, final: bool = False) -> dict[str, Any]:
        """Report what users did with a ranking; what was made of it."""
        return dict(self._send(feedback_call(ranking_id, events, final=final))["results"][0])

    def feedback_batch(self, batch: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Report on several rankings, each with `ranking_id` and `events`; one result each."""
        return list(self._send(batch_call(batch))["results"])

    def put_policy(
        self, policy: str, spec: Mapping[str, Any], *, dry_run: bool = False, discard: bool = False
    ) -> dict[str, Any]:
        """Declare or change a policy; `dry_run` says what would happen, `discard` lets go of what would be lost."""
        query = flags(dry_run=dry_run, discard=discard)
        return dict(self._send(Call("PUT", policy_path(policy), dict(spec), query)))

    def roll_back(self, policy: str, version: int, *, dry_run: bool = False) -> dict[str, Any]:
        """Go on from the state that an earlier version of a policy ended with."""
        query = {**flags(dry_run=dry_run), "version": version}
        return dict(self._send(Call("POST", policy_path(policy, "rollback"), query=query)))

    def reset(self, policy: str, what: Sequence[str], *, dry_run: bool = False) -> dict[str, Any]:
        """Start a policy anew with its "model", its "ledger", or both."""
        query = {**flags(dry_run=dry_run), "what": list(what)}
        return dict(self._send(Call("POST", policy_path(policy, "reset"), query=query)))

    def delete_policy(self, policy: str, *, dry_run: bool = False, discard: bool = False) -> dict[str, Any]:
        """Put an end to a policy and to everything that was kept of it."""
        query = flags(dry_run=dry_run, discard=discard)
        return dict(self._send(Call("DELETE", policy_path(policy), query=query)))

    def actions(self, *, limit: int = 100, before: int | None = None) -> list[dict[str, Any]]:
        """What administrators did, newest first, below the number `before` if given."""
        query = {"limit": limit} if before is None else {"limit": limit, "before": before}
        return list((self._send(Call("GET", "/v1/actions", query=query)))["actions"])

    def policies(self) -> list[dict[str, Any]]:
        """All policies."""
        return list(self._send(Call("GET", "/v1/policies"))["policies"])

    def policy(self, policy: str) -> dict[str, Any]:
        """One policy and where it stands."""
        return dict(self._send(Call("GET", policy_path(policy))))

    def fairness(self, policy: str, *, points: int = 100, recent: bool = False) -> dict[str, Any]:
        """Exposure and unfairness, with history."""
        query = {"points": points, "recent": str(recent).lower()}
        return dict(self._send(Call("GET", policy_path(policy, "fairness"), query=query)))

    def ranking(self, policy: str, ranking_id: str) -> dict[str, Any]:
        """A recorded ranking: what was shown, why, and what came back."""
        return dict(self._send(Call("GET", policy_path(policy, "rankings", ranking_id))))

    def erase(self, user: str, *, dry_run: bool = False) -> int:
        """Erase what names a user; how many rankings that touched, or would touch."""
        return int((self._send(erase_call(user, dry_run=dry_run)))["rankings"])

    def ready(self) -> bool:
        """Whether the service is ready."""
        try:
            return self._http.get("/readyz").status_code == 200
        except httpx.HTTPError:
            return False

    def close(self) -> None:
        """Let go of connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _send(self, call: Call) -> Any:
        try:
            answer = self._http.request(call.method, call.path, json=call.body, params=call.query)
        except httpx.HTTPError as error:
            raise unreached(error, self.url) from error
        is_json = answer.headers.get("content-type", "").startswith("application/json")
        return result_of(answer.status_code, answer.json() if is_json else None)
