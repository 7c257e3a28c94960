"""What the engine holds of one policy: its runtime, the lock around it, and the rankings that await feedback."""

from __future__ import annotations

import threading

import orjson

from fairexp.service.engine.cache import Cache
from fairexp.service.engine.open_ranking import OpenRanking
from fairexp.service.engine.queue import Queue
from fairexp.service.engine.repeats import RecentRequests
from fairexp.service.engine.runtime import Runtime
from fairexp.service.log.feedback import Feedback
from fairexp.service.log.shown import Shown
from fairexp.service.policies.spec import PolicySpec, parse_policy
from fairexp.service.problems import ServiceError, StoreError, policy_damaged, unknown_policy
from fairexp.service.settings import ServerSettings
from fairexp.service.store.base import AddPolicy, AddVersion, Append
from fairexp.service.store.chain import checked


class LivePolicy:
    """A policy that serves. `queue` is for the event loop; all else is touched under `lock` only.

    Requests wait in the queue, and not for the lock, which others hold for moments only.
    """

    def __init__(self, row: AddPolicy, settings: ServerSettings) -> None:
        self.row = row
        self.queue = Queue(row.name, most_rankings=settings.max_waiting_rankings)
        self.lock = threading.RLock()
        self.versions: list[AddVersion] = []
        self.opened = Cache[OpenRanking](settings.cached_bytes, may_go=self._is_on_disk)
        self.requests = RecentRequests()
        self.snapshot_seq = 0
        self.committed = 0
        self.problem: StoreError | None = None
        """What is wrong with its records, until it is reset or deleted."""
        self.stale = False
        self.ended = False
        self._runtime: Runtime | None = None

    @property
    def runtime(self) -> Runtime:
        """The policy at work, or a `ServiceError` if it could not be restored."""
        if self.ended:
            raise unknown_policy(self.row.name)
        if self.problem is not None:
            raise policy_damaged(self.row.name, self.problem)
        if self._runtime is None or self.stale:
            raise ServiceError(
                "policy_unavailable",
                f"policy: {self.row.name!r} is being rebuilt from the store; try again shortly",
                status=503,
                retry_after=1.0,
            )
        return self._runtime

    def start(self, runtime: Runtime, versions: list[AddVersion], *, snapshot_seq: int) -> None:
        """Serve, or serve again, from what the store holds."""
        self._runtime, self.versions, self.snapshot_seq = runtime, versions, snapshot_seq
        self.committed = runtime.seq
        self.problem, self.stale = None, False
        self.opened.clear()
        self.requests.clear()

    def spec(self, version: int) -> PolicySpec:
        """The policy as it was in that version."""
        with self.lock:
            if self.runtime.version == version:
                return self.runtime.spec
            return parse_policy(orjson.loads(next(each.spec for each in self.versions if each.version == version)))

    def replace(self, runtime: Runtime, version: AddVersion) -> None:
        """Go on with another version."""
        self._runtime = runtime
        self.versions = [*self.versions, version]

    def end(self) -> None:
        """The policy is deleted: whoever still holds this finds nothing in it."""
        self._runtime, self.ended = None, True
        self.opened.clear()

    def fail(self, problem: StoreError) -> None:
        """Remember why the policy cannot serve."""
        self._runtime, self.problem, self.stale = None, problem, False

    def keep(self, opened: OpenRanking) -> None:
        """Hold a ranking at hand, as large as it now is; others that the store has go to make room."""
        self.opened.put(opened.shown.seq, opened, n_bytes=opened.n_bytes)

    def _is_on_disk(self, opened: OpenRanking) -> bool:
        return opened.last_seq <= self.committed


def records_of(entry: Append, feedback: list[Append]) -> tuple[Shown, list[Feedback]]:
    """A ranking as the log has it, with what came back for it; a `CorruptRecordError` if they were changed since."""
    shown = Shown.read(checked(entry).payload, seq=entry.seq, at=entry.at, context=entry.context)
    return shown, [
        Feedback.read(checked(each).payload, seq=each.seq, at=each.at, ranking=entry.seq) for each in feedback
    ]
