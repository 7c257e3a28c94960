"""What the store keeps of a change: the log's entry, the version, and the administrators' action."""

from __future__ import annotations

from typing import Any

import orjson

from fairexp.service.administration.change import ChangeRequest, PolicyChange
from fairexp.service.engine.runtime import Runtime
from fairexp.service.store.base import AddAction, AddPolicy, AddVersion, Append, Kind
from fairexp.service.store.codec import pack


def log_entry(row: AddPolicy, runtime: Runtime) -> Append:
    """The log's entry for a version: its spec and the state it starts from."""
    meta, arrays = runtime.state()
    payload = pack({**meta, "spec": runtime.spec.model_dump(mode="json")}, arrays)
    return Append(row.policy, runtime.seq, Kind.POLICY, runtime.at, payload)


def version_row(
    row: AddPolicy, runtime: Runtime, changed: PolicyChange, request: ChangeRequest, *, at: float
) -> AddVersion:
    """The version that `runtime` is, as it is listed."""
    return AddVersion(
        policy=row.policy,
        version=runtime.version,
        seq=runtime.seq,
        at=at,
        spec=runtime.spec.model_dump_json(),
        parameters=orjson.dumps(runtime.parameters).decode(),
        action=changed.action,
        origin=request.origin,
        by=request.by,
        lost=orjson.dumps(changed.effects.lost).decode(),
    )


def action_of(name: str, changed: PolicyChange, request: ChangeRequest, *, at: float) -> AddAction:
    """Who did it, and what was lost."""
    details: dict[str, Any] = {"version": changed.version, "origin": request.origin, "differences": changed.differences}
    return AddAction(at, request.by, changed.action, name, {**details, "lost": list(changed.effects.lost)})
