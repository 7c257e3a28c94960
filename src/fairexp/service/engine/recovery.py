"""From the store back to a policy at work: the latest sound snapshot, and the log after it."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import orjson

from fairexp.errors import FairexpError
from fairexp.service.engine.cache import Cache
from fairexp.service.engine.runtime import Runtime
from fairexp.service.log.feedback import Feedback
from fairexp.service.log.shown import Shown
from fairexp.service.log.snapshot import read_snapshot
from fairexp.service.policies.spec import PolicySpec, parse_policy
from fairexp.service.problems import CorruptRecordError, ServiceError, StoreError
from fairexp.service.store.base import AddPolicy, AddVersion, Append, Kind, Store, StoredSnapshot
from fairexp.service.store.chain import REMEDY, Chain, checked
from fairexp.service.store.codec import unpack

LOG = logging.getLogger("fairexp.service")
AT_ONCE = 500
REMEMBERED_BYTES = 32_000_000
"""Memory for rankings at hand while replaying; feedback for others is looked up."""


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """A policy as the store has it; `snapshot_seq` is where the snapshot stood that the replay began with."""

    runtime: Runtime
    versions: list[AddVersion]
    snapshot_seq: int


def load_policy(store: Store, row: AddPolicy, *, use_snapshots: bool = True) -> Loaded:
    """Rebuild a policy; without snapshots the whole log is replayed, which must then be there from its beginning."""
    versions = store.versions(row.policy)
    specs = {version.version: parse_policy(orjson.loads(version.spec)) for version in versions}
    runtime, chain = None, Chain()
    for snapshot in store.snapshots(row.policy) if use_snapshots else ():
        try:
            runtime, link = _from_snapshot(snapshot, specs)
            chain = Chain(after=snapshot.seq, digest=link)
            break
        except (FairexpError, KeyError, ValueError) as error:
            LOG.warning(
                "snapshot not usable, going back to an older one",
                extra={"facts": {"policy": row.name, "seq": snapshot.seq, "problem": str(error)}},
            )
    start = chain.seq
    return Loaded(Replay(store, row, runtime, chain, specs).run(), versions, start)


def restored_version(store: Store, row: AddPolicy, version: int, specs: Mapping[int, PolicySpec]) -> Runtime | None:
    """The state that an earlier version of a policy ended with, if it is kept."""
    found = store.version_state(row.policy, version)
    if found is None:
        return None
    meta, arrays, _ = read_snapshot(found)
    return Runtime.restored(specs[version], meta, arrays, specs)


def started_over(row: AddPolicy, versions: Sequence[AddVersion], *, last: int, at: float) -> tuple[Runtime, list[str]]:
    """A damaged policy as it was last declared, with nothing learned, after the entry `last`; and what to warn of."""
    try:
        specs = {version.version: parse_policy(orjson.loads(version.spec)) for version in versions}
        spec, parameters = specs[versions[-1].version], orjson.loads(versions[-1].parameters)
        runtime, notes = Runtime.new(spec, before=parameters)
    except (FairexpError, LookupError, TypeError, ValueError) as error:
        raise ServiceError(
            "declaration_damaged",
            f"policy: how {row.name!r} was declared is damaged too ({error}), so it cannot be reset. Delete it "
            f"(DELETE /v1/policies/{row.name}?discard=true), and declare it again",
            status=409,
            field="policy",
        ) from error
    runtime.come_after(versions[-1].version, last=last, at=at, specs=specs)
    return runtime, notes


def _from_snapshot(snapshot: StoredSnapshot, specs: Mapping[int, PolicySpec]) -> tuple[Runtime, bytes | None]:
    meta, arrays, link = read_snapshot(snapshot)
    if meta.get("version") not in specs or meta.get("seq") != snapshot.seq:
        raise CorruptRecordError(f"snapshot {snapshot.seq}: it is of version {meta.get('version')}, which is unknown")
    return Runtime.restored(specs[meta["version"]], meta, arrays, specs), link


class Replay:
    """Applies what comes after `chain` in a policy's log, entry by entry, each proven to be the next one."""

    def __init__(
        self,
        store: Store,
        row: AddPolicy,
        runtime: Runtime | None,
        chain: Chain,
        specs: Mapping[int, PolicySpec],
    ) -> None:
        self._store = store
        self._row = row
        self._specs = specs
        self._runtime = runtime
        self._chain = chain
        self._shown = Cache[Shown](REMEMBERED_BYTES)

    def run(self) -> Runtime:
        """Apply all of it."""
        chain, policy = self._chain, self._row.policy
        head = self._store.head(policy)
        while entries := self._store.entries(policy, after=chain.seq, limit=AT_ONCE):
            for entry in entries:
                if entry.seq > head.seq:  # the commit of a server that was killed may have ended only now
                    head = self._store.head(policy)
                self._refuse(chain.follow(entry) or chain.beyond(head))
                self._apply(entry)
        self._refuse(chain.end(head))
        if self._runtime is None:
            raise CorruptRecordError(f"policy {self._row.name}: the log is empty and there is no usable snapshot")
        return self._runtime

    def _refuse(self, problem: str | None) -> None:
        if problem is not None:
            raise CorruptRecordError(f"policy {self._row.name}: {problem}. {REMEDY}")

    def _apply(self, entry: Append) -> None:
        if entry.kind == Kind.POLICY:
            meta, arrays = unpack(entry.payload)
            self._runtime = Runtime.restored(parse_policy(meta["spec"]), meta, arrays, self._specs)
            return
        if self._runtime is None:
            raise CorruptRecordError(f"policy {self._row.name}: the log does not begin with the policy itself")
        if entry.kind == Kind.SHOWN:
            shown = Shown.read(entry.payload, seq=entry.seq, at=entry.at)
            self._runtime.show_again(shown)
            self._remember(shown)
            return
        assert entry.ranking is not None
        feedback = Feedback.read(entry.payload, seq=entry.seq, at=entry.at, ranking=entry.ranking)
        self._runtime.learn_again(self._find(entry.ranking), feedback)

    def _find(self, seq: int) -> Shown:
        shown = self._shown.get(seq)
        if shown is not None:
            return shown
        entry = self._store.entry(self._row.policy, seq)
        if entry is None:
            raise CorruptRecordError(f"policy {self._row.name}: ranking {seq} is gone, but its feedback is not")
        shown = Shown.read(checked(entry).payload, seq=entry.seq, at=entry.at)
        self._remember(shown)
        return shown

    def _remember(self, shown: Shown) -> None:
        own = shown.trimmed()
        self._shown.put(own.seq, own, n_bytes=own.n_bytes)


def load_all(store: Store) -> dict[AddPolicy, Loaded | StoreError]:
    """Every policy; one that cannot be rebuilt is given as the error, so that the others can serve."""
    return {row: load_or_error(store, row) for row in store.policies()}


def load_or_error(store: Store, row: AddPolicy) -> Loaded | StoreError:
    """A policy, or why its records cannot be made sense of; a store that fails raises."""
    try:
        return load_policy(store, row)
    except CorruptRecordError as error:
        return error
    except StoreError:
        raise
    except FairexpError as error:
        return CorruptRecordError(f"policy {row.name}: {error}")
    except (KeyError, IndexError, TypeError, ValueError) as error:  # bytes that are whole and still not a record
        return CorruptRecordError(f"policy {row.name}: {type(error).__name__} in a record: {error}")
