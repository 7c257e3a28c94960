"""What an engine does in the background: getting the store back after a failure, and dropping what has expired."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

from fairexp.errors import FairexpError
from fairexp.service.engine.live_policy import LivePolicy
from fairexp.service.engine.recovery import load_all, load_or_error
from fairexp.service.store.base import Forget, Purge

if TYPE_CHECKING:
    from fairexp.service.engine.engine import Engine

LOG = logging.getLogger("fairexp.service")
FORGET_AT_ONCE = 2000
KEPT_SNAPSHOTS = 2
"""One that is found corrupt must leave another to go back to."""


class Background:
    """Two threads beside an engine, from `start` to `stop`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._wanted = threading.Event()
        self._stopping = threading.Event()
        self._deleted = threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Start both threads: one brings back what failed, the other drops what has expired."""
        for name, target in (("fairexp-recovery", self._recover), ("fairexp-maintenance", self._maintain)):
            thread = threading.Thread(target=target, name=name, daemon=True)
            thread.start()
            self._threads.append(thread)

    def stop(self) -> None:
        """Let both threads finish what they are at, and wait until they have."""
        self._stopping.set()
        self._wanted.set()
        self._deleted.set()
        for thread in self._threads:
            thread.join()
        self._threads.clear()

    def call(self) -> None:
        """Have the store, or a policy that cannot be trusted, brought back: something failed."""
        self._wanted.set()

    def call_to_purge(self) -> None:
        """Have what is left of deleted policies dropped."""
        self._deleted.set()

    def _recover(self) -> None:
        while True:
            self._wanted.wait()
            if self._stopping.is_set():
                return
            self._wanted.clear()
            try:
                if self._engine.writer.broken:
                    self._restart_store()
                elif any(live.stale for live in self._engine.policies()):
                    self._rebuild_stale()
            except FairexpError as error:
                LOG.warning("store still failing", extra={"facts": {"problem": str(error)}})
                self._again_later()
            except Exception:  # this thread is the way back to service, so it must not end
                LOG.exception("recovery failed")
                self._again_later()

    def _again_later(self) -> None:
        self._stopping.wait(self._engine.settings.retry_seconds)
        self._wanted.set()

    def _restart_store(self) -> None:
        """Nothing can be submitted while the writer is broken, so what is loaded here stays true."""
        engine = self._engine
        engine.store.reopen()
        with engine.declaring:
            policies = load_all(engine.store)
            with ExitStack() as locks:
                for live in engine.policies():
                    locks.enter_context(live.lock)
                engine.restore(policies)
                engine.writer.resume()
        LOG.warning("store back, all policies restored", extra={"facts": {"policies": len(policies)}})

    def _rebuild_stale(self) -> None:
        engine = self._engine
        engine.writer.submit([]).result()  # all that was handed in is on disk; a stale policy takes nothing new
        stale = [live.row for live in engine.policies() if live.stale]
        engine.restore({row: load_or_error(engine.store, row) for row in stale})

    def _maintain(self) -> None:
        self._try(self.purge)  # what a stop has left
        while not self._stopping.is_set():
            if self._deleted.wait(self._engine.settings.maintenance_seconds):
                self._deleted.clear()
            else:
                for live in self._engine.policies():
                    self._try(partial(self.compact, live))
            self._try(self.purge)

    def _try(self, work: Callable[[], None]) -> None:
        try:
            work()
        except FairexpError as error:
            LOG.warning("maintenance put off", extra={"facts": {"problem": str(error)}})
        except Exception:
            LOG.exception("maintenance failed")

    def purge(self) -> None:
        """Drop what is left of deleted policies, a little at a time: whatever else waits is written with it."""
        engine = self._engine
        for policy in engine.store.unpurged():
            while policy in engine.store.unpurged() and not self._stopping.is_set():
                engine.writer.submit([Purge(policy)]).result()

    def compact(self, live: LivePolicy) -> None:
        """Drop entries that are older than the policy keeps them and that no kept snapshot needs."""
        engine, policy = self._engine, live.row.policy
        if live.problem is not None or live.stale:
            return
        engine.snapshot(live, at_least=max(engine.settings.snapshot_every // 10, 1))
        engine.writer.submit([]).result()
        while not self._stopping.is_set():
            seqs = engine.store.snapshot_seqs(policy)
            first, _ = engine.store.bounds(policy)
            if len(seqs) < KEPT_SNAPSHOTS or not first:
                return
            oldest = seqs[KEPT_SNAPSHOTS - 1]
            before = engine.clock() - live.runtime.spec.retention.rankings_seconds
            upto = min(oldest, first + FORGET_AT_ONCE)
            engine.writer.submit([Forget(policy, upto, before, oldest)]).result()
            if engine.store.bounds(policy)[0] <= first:
                return
