"""From the store back to a policy at work: the latest sound snapshot, and the log after it."""

from __future__ import annotations

import hashlib
import logging
from collections import OrderedDict
from dataclasses import dataclass

import orjson

from fairexp.errors import FairexpError
from fairexp.service.packing import unpack
from fairexp.service.policy import parse_policy
from fairexp.service.problems import CorruptRecordError, StoreError
from fairexp.service.records import Feedback, Shown
from fairexp.service.runtime import Runtime
from fairexp.service.store.base import AddPolicy, AddVersion, Append, Kind, Store, StoredSnapshot

LOG = logging.getLogger("fairexp.service")
AT_ONCE = 500
REMEMBERED = 5000
"""Rankings kept at hand while replaying; feedback for others is looked up."""


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """A policy as the store has it; `snapshot_seq` is where the snapshot stood that the replay began with."""

    runtime: Runtime
    versions: list[AddVersion]
    snapshot_seq: int


def load_policy(store: Store, row: AddPolicy, *, use_snapshots: bool = True) -> Loaded:
    """Rebuild a policy; without snapshots the whole log is replayed, which must then be there from its beginning."""
    versions = store.versions(row.policy)
    runtime, start = None, 0
    for snapshot in store.snapshots(row.policy) if use_snapshots else ():
        try:
            runtime = _from_snapshot(snapshot, versions)
            start = snapshot.seq
            break
        except (FairexpError, KeyError, ValueError) as error:
            LOG.warning(
                "snapshot not usable, going back to an older one",
                extra={"facts": {"policy": row.name, "seq": snapshot.seq, "problem": str(error)}},
            )
    runtime = Replay(store, row, runtime).run(start)
    return Loaded(runtime, versions, start)


def _from_snapshot(snapshot: StoredSnapshot, versions: list[AddVersion]) -> Runtime:
    if hashlib.sha256(snapshot.payload).digest() != snapshot.digest:
        raise CorruptRecordError(f"snapshot {snapshot.seq}: its bytes are not those that were written")
    meta, arrays = unpack(snapshot.payload)
    specs = {version.version: version.spec for version in versions}
    if meta.get("version") not in specs or meta.get("seq") != snapshot.seq:
        raise CorruptRecordError(f"snapshot {snapshot.seq}: it is of version {meta.get('version')}, which is unknown")
    return Runtime.restored(parse_policy(orjson.loads(specs[meta["version"]])), meta, arrays)


class Replay:
    """Applies a policy's log, entry by entry."""

    def __init__(self, store: Store, row: AddPolicy, runtime: Runtime | None) -> None:
        self._store = store
        self._row = row
        self._runtime = runtime
        self._shown: OrderedDict[int, Shown] = OrderedDict()

    def run(self, start: int) -> Runtime:
        """Apply everything after the entry `start`."""
        seq = start
        while entries := self._store.entries(self._row.policy, after=seq, limit=AT_ONCE):
            for entry in entries:
                if entry.seq != seq + 1:
                    raise CorruptRecordError(
                        f"policy {self._row.name}: the log goes from entry {seq} to {entry.seq}; restore the store "
                        "from a backup"
                    )
                self._apply(entry)
                seq = entry.seq
        if self._runtime is None:
            raise CorruptRecordError(f"policy {self._row.name}: the log is empty and there is no usable snapshot")
        return self._runtime

    def _apply(self, entry: Append) -> None:
        if entry.kind == Kind.POLICY:
            meta, arrays = unpack(entry.payload)
            self._runtime = Runtime.restored(parse_policy(meta["spec"]), meta, arrays)
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
        if seq in self._shown:
            return self._shown[seq]
        entry = self._store.entry(self._row.policy, seq)
        if entry is None:
            raise CorruptRecordError(f"policy {self._row.name}: ranking {seq} is gone, but its feedback is not")
        shown = Shown.read(entry.payload, seq=entry.seq, at=entry.at)
        self._remember(shown)
        return shown

    def _remember(self, shown: Shown) -> None:
        self._shown[shown.seq] = shown
        if len(self._shown) > REMEMBERED:
            self._shown.popitem(last=False)


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
