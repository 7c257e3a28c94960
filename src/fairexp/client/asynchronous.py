"""The client for asyncio."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import httpx
from numpy.typing import ArrayLike

from fairexp.client import calls
from fairexp.client.answers import (
    Action,
    Change,
    Fairness,
    FeedbackOutcome,
    Kept,
    KnownItem,
    KnownUser,
    Policy,
    PolicyLine,
    RankedList,
    Record,
)
from fairexp.client.calls import Call, Event, Groups, Value


class AsyncClient:
    """What `Client` does, to be awaited.

    ```python
    async with AsyncClient("http://localhost:8000", key="fx_...") as client:
        ranking = await client.rank("shop", ["a", "b"], [[1.0, 0.2], [0.3, 0.9]], groups=["small", "large"])
        print([item.id for item in ranking.items])
        await client.feedback(ranking.ranking_id, [{"id": "e1", "type": "click", "item": "b"}])
    ```
    """

    def __init__(self, url: str, *, key: str | None = None, timeout_seconds: float = 10.0) -> None:
        self.url = url
        self._http = httpx.AsyncClient(base_url=url, headers=calls.headers(key), timeout=timeout_seconds)

    async def rank(
        self,
        policy: str,
        ids: Sequence[str],
        features: ArrayLike | None = None,
        *,
        fields: Sequence[Mapping[str, Any]] | None = None,
        groups: Groups | None = None,
        k: int | None = None,
        query_id: str | None = None,
        user: str | None = None,
        session: str | None = None,
        request_id: str | None = None,
        after: str | None = None,
        explain: bool = False,
        pinned: Mapping[str, int] | None = None,
        segment: str | None = None,
        weight: float | None = None,
    ) -> RankedList:
        """Rank candidates with `features` (n, d), and show `k` of them, or as many as the policy does.

        Instead of features there may be `fields` by name for each candidate, or nothing: what is not brought is looked
        up in the items that the policy keeps.

        Asking again with the same `request_id` gives the same ranking again, and nothing is charged twice.
        `after` is the id of a ranking that this one continues, as its next page.
        """
        call = calls.rank(
            policy,
            ids,
            features,
            fields=fields,
            groups=groups,
            k=k,
            query_id=query_id,
            user=user,
            session=session,
            request_id=request_id,
            after=after,
            explain=explain,
            pinned=pinned,
            segment=segment,
            weight=weight,
        )
        return await self._send(call)

    async def put_items(
        self,
        policy: str,
        items: Mapping[str, Mapping[str, Any]],
        *,
        users: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> Kept:
        """Keep fields of items, by id, with a policy, and of users; the next ranking finds them."""
        return await self._send(calls.put_items(policy, items, users=users))

    async def item(self, policy: str, name: str) -> KnownItem:
        """What is known of an item now."""
        return await self._send(calls.item(policy, name))

    async def forget_item(self, policy: str, name: str) -> bool:
        """Forget the fields of an item; whether there were any."""
        return await self._send(calls.forget_item(policy, name))

    async def feedback(
        self, ranking_id: str, events: Sequence[Event], *, final: bool = False, seen: int | None = None
    ) -> FeedbackOutcome:
        """Report what users did with a ranking; what was made of it. `final` says that no more will come.

        `seen` is the last position that was seen: exposure below it is given back, and all of it with 0.
        """
        return (await self._send(calls.feedback_on(ranking_id, events, final=final, seen=seen)))[0]

    async def feedback_batch(self, batch: Sequence[Mapping[str, Any]]) -> list[FeedbackOutcome]:
        """Report on several rankings, each with `ranking_id` and `events`; one result each."""
        return await self._send(calls.feedback(batch))

    async def put_policy(
        self, policy: str, spec: Mapping[str, Any], *, dry_run: bool = False, discard: bool = False
    ) -> Change:
        """Declare or change a policy; `dry_run` says what would happen, `discard` lets go of what would be lost."""
        return await self._send(calls.put_policy(policy, spec, dry_run=dry_run, discard=discard))

    async def roll_back(self, policy: str, version: int, *, dry_run: bool = False) -> Change:
        """Go on from the state that an earlier version of a policy ended with."""
        return await self._send(calls.roll_back(policy, version, dry_run=dry_run))

    async def reset(self, policy: str, what: Sequence[str], *, dry_run: bool = False) -> Change:
        """Start a policy anew with its "model", its "ledger", or both."""
        return await self._send(calls.reset(policy, what, dry_run=dry_run))

    async def delete_policy(self, policy: str, *, dry_run: bool = False, discard: bool = False) -> Change:
        """Put an end to a policy and to everything that was kept of it."""
        return await self._send(calls.delete_policy(policy, dry_run=dry_run, discard=discard))

    async def actions(self, *, limit: int = 100, before: int | None = None) -> list[Action]:
        """What administrators did, newest first, below the number `before` if given."""
        return await self._send(calls.actions(limit=limit, before=before))

    async def policies(self) -> list[PolicyLine]:
        """All policies, each in a line."""
        return await self._send(calls.policies())

    async def policy(self, policy: str) -> Policy:
        """One policy and where it stands."""
        return await self._send(calls.policy(policy))

    async def fairness(
        self, policy: str, *, points: int = 100, rounds: int | None = None, seconds: float | None = None
    ) -> Fairness:
        """Exposure and unfairness, with at most `points` of history: of the latest `rounds` or `seconds`, or of all."""
        return await self._send(calls.fairness(policy, points=points, rounds=rounds, seconds=seconds))

    async def ranking(self, policy: str, ranking_id: str) -> Record:
        """A recorded ranking: what was shown, why, and what came back."""
        return await self._send(calls.ranking(policy, ranking_id))

    async def user(self, name: str) -> KnownUser:
        """What is kept about a user, in all policies."""
        return await self._send(calls.user(name))

    async def erase(self, user: str, *, dry_run: bool = False) -> int:
        """Erase what names a user; how many rankings that touched, or would touch."""
        return await self._send(calls.erase(user, dry_run=dry_run))

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

    async def _send(self, call: Call[Value]) -> Value:
        try:
            answer = await self._http.request(call.method, call.path, json=call.body, params=call.query)
        except httpx.HTTPError as error:
            raise calls.unreached(error, self.url) from error
        return call.value(answer.status_code, answer.content)
