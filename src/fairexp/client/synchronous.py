"""The client for ordinary code."""

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


class Client:
    """A service at `url`. Requests that failed for lack of a connection or a store are not repeated by themselves.

    ```python
    with Client("http://localhost:8000", key="fx_...") as client:
        ranking = client.rank("shop", ["a", "b"], [[1.0, 0.2], [0.3, 0.9]], groups=["small", "large"])
        print([item.id for item in ranking.items])
        client.feedback(ranking.ranking_id, [{"id": "e1", "type": "click", "item": "b"}])
    ```
    """

    def __init__(self, url: str, *, key: str | None = None, timeout_seconds: float = 10.0) -> None:
        self.url = url
        self._http = httpx.Client(base_url=url, headers=calls.headers(key), timeout=timeout_seconds)

    def rank(
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

        `groups` is a name for each candidate, or a list of them for each attribute that the policy's constraints go by.
        `pinned` says which candidates must stand at which positions, counted from 1.
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
        return self._send(call)

    def put_items(
        self,
        policy: str,
        items: Mapping[str, Mapping[str, Any]],
        *,
        users: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> Kept:
        """Keep fields of items, by id, with a policy, and of users; the next ranking finds them."""
        return self._send(calls.put_items(policy, items, users=users))

    def item(self, policy: str, name: str) -> KnownItem:
        """What is known of an item now."""
        return self._send(calls.item(policy, name))

    def forget_item(self, policy: str, name: str) -> bool:
        """Forget the fields of an item; whether there were any."""
        return self._send(calls.forget_item(policy, name))

    def feedback(
        self, ranking_id: str, events: Sequence[Event], *, final: bool = False, seen: int | None = None
    ) -> FeedbackOutcome:
        """Report what users did with a ranking; what was made of it. `final` says that no more will come.

        `seen` is the last position that was seen: exposure below it is given back, and all of it with 0.
        """
        return self._send(calls.feedback_on(ranking_id, events, final=final, seen=seen))[0]

    def feedback_batch(self, batch: Sequence[Mapping[str, Any]]) -> list[FeedbackOutcome]:
        """Report on several rankings, each with `ranking_id` and `events`; one result each."""
        return self._send(calls.feedback(batch))

    def put_policy(
        self, policy: str, spec: Mapping[str, Any], *, dry_run: bool = False, discard: bool = False
    ) -> Change:
        """Declare or change a policy; `dry_run` says what would happen, `discard` lets go of what would be lost."""
        return self._send(calls.put_policy(policy, spec, dry_run=dry_run, discard=discard))

    def roll_back(self, policy: str, version: int, *, dry_run: bool = False) -> Change:
        """Go on from the state that an earlier version of a policy ended with."""
        return self._send(calls.roll_back(policy, version, dry_run=dry_run))

    def reset(self, policy: str, what: Sequence[str], *, dry_run: bool = False) -> Change:
        """Start a policy anew with its "model", its "ledger", or both."""
        return self._send(calls.reset(policy, what, dry_run=dry_run))

    def delete_policy(self, policy: str, *, dry_run: bool = False, discard: bool = False) -> Change:
        """Put an end to a policy and to everything that was kept of it."""
        return self._send(calls.delete_policy(policy, dry_run=dry_run, discard=discard))

    def actions(self, *, limit: int = 100, before: int | None = None) -> list[Action]:
        """What administrators did, newest first, below the number `before` if given."""
        return self._send(calls.actions(limit=limit, before=before))

    def policies(self) -> list[PolicyLine]:
        """All policies, each in a line."""
        return self._send(calls.policies())

    def policy(self, policy: str) -> Policy:
        """One policy and where it stands."""
        return self._send(calls.policy(policy))

    def fairness(
        self, policy: str, *, points: int = 100, rounds: int | None = None, seconds: float | None = None
    ) -> Fairness:
        """Exposure and unfairness, with at most `points` of history: of the latest `rounds` or `seconds`, or of all."""
        return self._send(calls.fairness(policy, points=points, rounds=rounds, seconds=seconds))

    def ranking(self, policy: str, ranking_id: str) -> Record:
        """A recorded ranking: what was shown, why, and what came back."""
        return self._send(calls.ranking(policy, ranking_id))

    def user(self, name: str) -> KnownUser:
        """What is kept about a user, in all policies."""
        return self._send(calls.user(name))

    def erase(self, user: str, *, dry_run: bool = False) -> int:
        """Erase what names a user; how many rankings that touched, or would touch."""
        return self._send(calls.erase(user, dry_run=dry_run))

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

    def _send(self, call: Call[Value]) -> Value:
        try:
            answer = self._http.request(call.method, call.path, json=call.body, params=call.query)
        except httpx.HTTPError as error:
            raise calls.unreached(error, self.url) from error
        return call.value(answer.status_code, answer.content)
