"""What administrators do to policies: declare, change, roll back, reset, delete; each recorded, none by accident."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import orjson

from fairexp.service.administration.succession import LEDGER, MODEL, Effects, Succession, differences, succeed
from fairexp.service.engine.live_policy import Desk
from fairexp.service.engine.recovery import load_policy, restored_version
from fairexp.service.engine.runtime import Runtime
from fairexp.service.log.codec import pack
from fairexp.service.policies.rankers import try_out
from fairexp.service.policies.spec import PolicySpec
from fairexp.service.problems import ServiceError, invalid
from fairexp.service.store.base import (
    AddAction,
    AddPolicy,
    AddState,
    AddVersion,
    Append,
    DeletePolicy,
    Kind,
    Store,
    Write,
)

if TYPE_CHECKING:
    from fairexp.service.engine.engine import Engine

LOG = logging.getLogger("fairexp.service")
Origin = Literal["file", "api"]
Prefer = Literal["file", "store"]


@dataclass(frozen=True, slots=True)
class PolicyChange:
    """What a change did, or would do: the version then in force, its effects, and warnings."""

    version: int
    changed: bool
    action: str
    effects: Effects = field(default_factory=Effects)
    warnings: list[str] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)
    dry_run: bool = False

    def plain(self, policy: str) -> dict[str, Any]:
        """As the API and the command line tell it."""
        told = {"policy": policy, "version": self.version, "changed": self.changed, "dry_run": self.dry_run}
        effects = {"differences": self.differences, **self.effects.plain()}
        return {**told, "action": self.action, **effects, "warnings": self.warnings}


@dataclass(frozen=True, slots=True)
class Order:
    """Who asks for a change, whether it may lose what its effects name, and whether to tell only."""

    by: str = "unknown"
    origin: Origin = "api"
    discard: bool = False
    dry_run: bool = False


class Changes:
    """Changes to an engine's policies, one at a time. Each returns when it is on disk."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def put(self, name: str, spec: PolicySpec, order: Order) -> PolicyChange:
        """Declare a policy, or change it."""
        engine = self._engine
        self._check_limits(spec)
        with engine.declaring:
            if name not in engine.names():
                return self._create(name, spec, order)
            desk = engine.desk(name)
            with desk.lock:
                if desk.runtime.spec == spec:
                    return PolicyChange(desk.runtime.version, False, "as it was", dry_run=order.dry_run)
            try_out(spec)
            return self._succeed(desk, spec, order, action="changed")

    def declare(self, name: str, spec: PolicySpec, order: Order, *, prefer: Prefer | None) -> PolicyChange:
        """Put a policy that a file declares, unless it was changed or deleted over the API since.

        Then `prefer` decides; where it does not, that is a `ServiceError` that shows the difference.
        """
        engine = self._engine
        runtime, versions = None, []
        if name in engine.names():
            desk = engine.desk(name)
            with desk.lock:
                runtime, versions = desk.runtime, desk.versions
        elif name not in engine.store.deleted_policies():
            return self.put(name, spec, order)
        left_alone = _left_alone(name, spec, runtime, versions, prefer)
        return self.put(name, spec, order) if left_alone is None else left_alone

    def rollback(self, name: str, version: int, order: Order) -> PolicyChange:
        """Go on from the state that an earlier version ended with, as a new version."""
        engine = self._engine
        with engine.declaring:
            desk = engine.desk(name)
            with desk.lock:
                before = desk.runtime
            if version not in before.specs or version >= before.version:
                raise invalid("version", version, f"an earlier version than {before.version}, the one in force")
            runtime = restored_version(engine.store, desk.row, version, before.specs)
            if runtime is None:
                raise ServiceError(
                    "state_not_kept",
                    f"version: the state of version {version} is not kept any more (setting kept_states)",
                    status=410,
                    field="version",
                )
            with desk.lock:
                before = desk.runtime
                changed = PolicyChange(
                    before.version + 1,
                    changed=True,
                    action=f"rolled back to version {version}",
                    effects=Effects(
                        kept=(
                            f"the state that version {version} ended with: {runtime.totals.rounds:,} rankings, "
                            f"{runtime.totals.updates:,} updates",
                        ),
                        new=(f"version {before.version} can be rolled back to in turn",),
                    ),
                    warnings=_other_model(before, runtime),
                    differences=differences(before.spec, runtime.spec),
                    dry_run=order.dry_run,
                )
                if order.dry_run:
                    return changed
                engine.check_store()
                runtime.version, runtime.n_generations = before.version + 1, before.n_generations
                runtime.specs = {**before.specs, runtime.version: runtime.spec}
                runtime.seq, runtime.at = before.seq, before.at
                runtime.ranker.count_on(before.ranker)  # numbers of rankings go on: none is used twice
                done = self._adopt(desk, runtime, changed, order)
            done.result()
            return changed

    def reset(self, name: str, what: Collection[str], order: Order) -> PolicyChange:
        """Start anew with the model, the ledger or both; what there was can be rolled back to."""
        if not what or any(each not in (MODEL, LEDGER) for each in what):
            raise invalid("what", ", ".join(what) or "nothing", f"{MODEL}, {LEDGER} or both")
        engine = self._engine
        with engine.declaring:
            desk = engine.desk(name)
            with desk.lock:
                spec = desk.runtime.spec
            told = Order(order.by, order.origin, discard=True, dry_run=order.dry_run)
            return self._succeed(desk, spec, told, action=f"reset {' and '.join(sorted(what))}", drop=what)

    def delete(self, name: str, order: Order) -> PolicyChange:
        """Put an end to a policy: its versions, its log, its state. Nothing brings it back."""
        engine = self._engine
        with engine.declaring:
            desk = engine.desk(name)
            with desk.lock:
                runtime = desk.runtime
                counts = f"{runtime.totals.rounds:,} rankings, {runtime.totals.updates:,} updates"
                effects = Effects(lost=(f"policy {name!r} with all its {runtime.version} versions: {counts}",))
                changed = PolicyChange(runtime.version, True, "deleted", effects, dry_run=order.dry_run)
                if not _goes_ahead(name, changed, order):
                    return changed
                engine.check_store()
                details = {"versions": runtime.version, "log": engine.store.head(desk.row.policy).note}
                action = AddAction(engine.clock(), order.by, "deleted", name, details)
                done = engine.writer.submit([DeletePolicy(desk.row.policy, name), action])
                engine.dismiss(desk)
            done.result()
            return changed

    def _create(self, name: str, spec: PolicySpec, order: Order) -> PolicyChange:
        engine = self._engine
        if len(engine.names()) >= engine.settings.max_policies:
            raise ServiceError("too_many_policies", f"policy: at most {engine.settings.max_policies}", status=409)
        try_out(spec)
        runtime, notes = Runtime.new(spec)
        changed = PolicyChange(1, True, "created", warnings=notes, dry_run=order.dry_run)
        if order.dry_run:
            return changed
        engine.check_store()
        runtime.at, runtime.seq = engine.clock(), 1
        desk = Desk(
            AddPolicy(engine.store.last_policy() + 1, name, runtime.at), cached_bytes=engine.settings.cached_bytes
        )
        version = _version(desk, runtime, changed, order, at=runtime.at)
        action = _action(name, changed, order, at=runtime.at)
        engine.writer.submit([desk.row, _entry(desk, runtime), version, action]).result()
        engine.admit(desk, runtime, version)
        return changed

    def _succeed(
        self, desk: Desk, spec: PolicySpec, order: Order, *, action: str, drop: Collection[str] = ()
    ) -> PolicyChange:
        with desk.lock:
            self._engine.check_store()
            next_ = succeed(desk.runtime, spec, drop=drop)
            changed = _change(desk.runtime, next_, action=action, dry_run=order.dry_run)
            if not _goes_ahead(desk.row.name, changed, order):
                return changed
            done = self._adopt(desk, next_.runtime, changed, order)
        done.result()
        return changed

    def _adopt(self, desk: Desk, runtime: Runtime, changed: PolicyChange, order: Order) -> Future[None]:
        """Go on with another version; under the desk's lock."""
        engine, before, at = self._engine, desk.runtime, self._engine.clock()
        meta, arrays = before.state()
        ended = AddState(
            desk.row.policy, before.version, before.seq, at, meta, arrays, keep=engine.settings.kept_states
        )
        runtime.seq = before.seq + 1
        version = _version(desk, runtime, changed, order, at=at)
        writes: list[Write] = [ended, _entry(desk, runtime), version, _action(desk.row.name, changed, order, at=at)]
        done = engine.submit(desk, writes, runtime.seq)
        desk.replace(runtime, version)
        return done

    def _check_limits(self, spec: PolicySpec) -> None:
        settings = self._engine.settings
        for name, given, most in (
            ("features", spec.n_features, settings.max_features),
            ("length", spec.length, settings.max_length),
            ("groups", len(spec.groups), settings.max_groups),
        ):
            if given > most:
                raise invalid(name, given, f"at most {most}", "It is a limit of this server.")


def preview(
    store: Store, policies: Mapping[str, PolicySpec], *, prefer: Prefer | None = None
) -> Iterator[tuple[str, PolicyChange]]:
    """What declaring these policies would do to an open store; nothing is changed, and a server may be at work.

    Where a server would refuse to start because of the difference, that is the same `ServiceError`.
    """
    rows, deleted = {row.name: row for row in store.policies()}, store.deleted_policies()
    for name, spec in policies.items():
        loaded = load_policy(store, rows[name]) if name in rows else None
        before, versions = (None, []) if loaded is None else (loaded.runtime, loaded.versions)
        known = before is not None or name in deleted
        left_alone = _left_alone(name, spec, before, versions, prefer) if known else None
        if left_alone is not None:
            yield name, left_alone
        elif before is None:
            yield name, PolicyChange(1, True, "created", warnings=Runtime.new(spec)[1], dry_run=True)
        elif before.spec == spec:
            yield name, PolicyChange(before.version, False, "as it was", dry_run=True)
        else:
            yield name, _change(before, succeed(before, spec), action="changed", dry_run=True)


def _left_alone(
    name: str, spec: PolicySpec, before: Runtime | None, versions: Sequence[AddVersion], prefer: Prefer | None
) -> PolicyChange | None:
    """What a file leaves as it was changed over the API, if `prefer` says so; where nobody says, it is a conflict."""
    if prefer == "file":
        return None
    if before is None:
        if prefer is None:
            raise _conflict(name, "the file declares it, but it was deleted over the API", [])
        return PolicyChange(0, False, "deleted, and left so")
    latest = _latest_change(versions)
    if before.spec == spec or latest.origin != "api":
        return None
    lines = differences(spec, before.spec, form="{}: {} in the file, {} in force")
    if prefer is None:
        who = f"version {latest.version}, which was {latest.action} over the API by {latest.by}"
        raise _conflict(name, f"the file differs from {who}", lines)
    return PolicyChange(before.version, False, "as it was", differences=lines)


def _change(before: Runtime, after: Succession, *, action: str, dry_run: bool) -> PolicyChange:
    return PolicyChange(
        after.runtime.version,
        changed=True,
        action=action,
        effects=after.effects,
        warnings=after.warnings,
        differences=differences(before.spec, after.runtime.spec),
        dry_run=dry_run,
    )


def _other_model(before: Runtime, after: Runtime) -> list[str]:
    if before.generation == after.generation:
        return []
    return [f"feedback for rankings that version {before.version} has shown is noted, not learned from: another model"]


def _goes_ahead(name: str, changed: PolicyChange, order: Order) -> bool:
    """Whether to do it; a 409 that says what would go if that was not said to be right."""
    if order.dry_run:
        return False
    if changed.effects.lost and not order.discard:
        raise ServiceError(
            "would_lose",
            f"policy {name}: this change would lose {'; '.join(changed.effects.lost)}. Nothing was changed. Ask again "
            "with discard=true (--discard) if that shall go, or with dry_run=true (--dry-run) to see all that it does",
            status=409,
            field="discard",
        )
    return True


def _entry(desk: Desk, runtime: Runtime) -> Append:
    """The log's entry for a version: its spec and the state it starts from."""
    meta, arrays = runtime.state()
    payload = pack({**meta, "spec": runtime.spec.model_dump(mode="json")}, arrays)
    return Append(desk.row.policy, runtime.seq, Kind.POLICY, runtime.at, payload)


def _version(desk: Desk, runtime: Runtime, changed: PolicyChange, order: Order, *, at: float) -> AddVersion:
    return AddVersion(
        policy=desk.row.policy,
        version=runtime.version,
        seq=runtime.seq,
        at=at,
        spec=runtime.spec.model_dump_json(),
        parameters=orjson.dumps(runtime.parameters).decode(),
        action=changed.action,
        origin=order.origin,
        by=order.by,
        lost=orjson.dumps(changed.effects.lost).decode(),
    )


def _action(name: str, changed: PolicyChange, order: Order, *, at: float) -> AddAction:
    details: dict[str, Any] = {"version": changed.version, "origin": order.origin, "differences": changed.differences}
    return AddAction(at, order.by, changed.action, name, {**details, "lost": list(changed.effects.lost)})


def _latest_change(versions: Sequence[AddVersion]) -> AddVersion:
    """The latest version that declares something else than the one before it: a reset, say, does not."""
    for before, after in zip(reversed(versions[:-1]), reversed(versions), strict=False):
        if before.spec != after.spec:
            return after
    return versions[0]


def _conflict(name: str, problem: str, lines: list[str]) -> ServiceError:
    return ServiceError(
        "file_differs",
        "\n  ".join([f"policy {name}: {problem}", *lines])
        + "\nBring the file up to date, or say which one wins: --prefer file, or --prefer store",
        status=409,
        field="policies",
    )
