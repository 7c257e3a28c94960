"""What administrators do to policies: declare, change, roll back, reset, delete; each recorded, none by accident."""

from __future__ import annotations

from collections.abc import Collection
from concurrent.futures import Future

from fairexp.service.administration.change import ChangeRequest, PolicyChange
from fairexp.service.administration.declaration import Prefer, described, left_alone
from fairexp.service.administration.entries import action_of, log_entry, version_row
from fairexp.service.administration.next_version import LEDGER, MODEL, Effects, differences, next_version
from fairexp.service.engine.engine import Engine
from fairexp.service.engine.live_policy import LivePolicy
from fairexp.service.engine.recovery import restored_version, started_over
from fairexp.service.engine.runtime import Runtime
from fairexp.service.policies.rankers import try_out
from fairexp.service.policies.spec import PolicySpec
from fairexp.service.problems import ServiceError, invalid
from fairexp.service.store.base import AddAction, AddPolicy, AddSnapshot, AddState, DeletePolicy, SkipTo, Write

PLAIN = ChangeRequest()
"""By nobody who is known, losing nothing."""


class Changes:
    """Changes to an engine's policies, one at a time. Each returns when it is on disk."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def put(self, name: str, spec: PolicySpec, request: ChangeRequest = PLAIN) -> PolicyChange:
        """Declare a policy, or change it."""
        engine = self._engine
        self._check_limits(spec)
        with engine.declaring:
            if name not in engine.names():
                return self._create(name, spec, request)
            live = engine.policy(name)
            with live.lock:
                if live.runtime.spec == spec:
                    return PolicyChange(live.runtime.version, False, "as it was", dry_run=request.dry_run)
            try_out(spec)
            return self._succeed(live, spec, request, action="changed")

    def declare(self, name: str, spec: PolicySpec, request: ChangeRequest, *, prefer: Prefer | None) -> PolicyChange:
        """Put a policy that a file declares, unless it was changed or deleted over the API since.

        Then `prefer` decides; where it does not, that is a `ServiceError` that shows the difference.
        """
        engine = self._engine
        runtime, versions = None, []
        if name in engine.names():
            live = engine.policy(name)
            if live.problem is not None:
                return PolicyChange(0, False, "damaged, and left so")
            with live.lock:
                runtime, versions = live.runtime, live.versions
        elif name not in engine.store.deleted_policies():
            return self.put(name, spec, request)
        as_it_is = left_alone(name, spec, runtime, versions, prefer)
        return self.put(name, spec, request) if as_it_is is None else as_it_is

    def rollback(self, name: str, version: int, request: ChangeRequest = PLAIN) -> PolicyChange:
        """Go on from the state that an earlier version ended with, as a new version."""
        engine = self._engine
        with engine.declaring:
            live = engine.policy(name)
            earlier = self._earlier(live, version)
            with live.lock:
                before = live.runtime
                changed = _rolled_back(before, earlier, version, dry_run=request.dry_run)
                if request.dry_run:
                    return changed
                engine.check_store()
                earlier.follow(before)
                done = self._adopt(live, earlier, changed, request)
            done.result()
            return changed

    def reset(self, name: str, what: Collection[str], request: ChangeRequest = PLAIN) -> PolicyChange:
        """Start anew with the model, the ledger or both; what there was can be rolled back to."""
        if not what or any(each not in (MODEL, LEDGER) for each in what):
            raise invalid("what", ", ".join(what) or "nothing", f"{MODEL}, {LEDGER} or both")
        engine = self._engine
        with engine.declaring:
            live = engine.policy(name)
            if live.problem is not None:
                return self._start_over(live, what, request)
            with live.lock:
                spec = live.runtime.spec
            told = ChangeRequest(request.by, request.origin, discard=True, dry_run=request.dry_run)
            return self._succeed(live, spec, told, action=f"reset {' and '.join(sorted(what))}", drop=what)

    def delete(self, name: str, request: ChangeRequest = PLAIN) -> PolicyChange:
        """Put an end to a policy: its versions, its log, its state. Nothing brings it back."""
        engine = self._engine
        with engine.declaring:
            live = engine.policy(name)
            with live.lock:
                version, counts = len(engine.store.versions(live.row.policy)), "damaged as it is"
                if live.problem is None:
                    totals, version = live.runtime.totals, live.runtime.version
                    counts = f"{totals.rounds:,} rankings, {totals.updates:,} updates"
                effects = Effects(lost=(f"policy {name!r} with all its {version} versions: {counts}",))
                changed = PolicyChange(version, True, "deleted", effects, dry_run=request.dry_run)
                if not changed.goes_ahead(name, request):
                    return changed
                engine.check_store()
                details = {"versions": version, "log": engine.store.head(live.row.policy).note}
                action = AddAction(engine.clock(), request.by, "deleted", name, details)
                done = engine.writer.submit([DeletePolicy(live.row.policy, name), action])
                engine.remove(live)
            done.result()
            engine.background.call_to_purge()
            return changed

    def _create(self, name: str, spec: PolicySpec, request: ChangeRequest) -> PolicyChange:
        engine = self._engine
        if len(engine.names()) >= engine.settings.max_policies:
            raise ServiceError("too_many_policies", f"policy: at most {engine.settings.max_policies}", status=409)
        try_out(spec)
        runtime, notes = Runtime.new(spec)
        changed = PolicyChange(1, True, "created", warnings=notes, dry_run=request.dry_run)
        if request.dry_run:
            return changed
        engine.check_store()
        runtime.at, runtime.seq = engine.clock(), 1
        row = AddPolicy(engine.store.last_policy() + 1, name, runtime.at)
        version = version_row(row, runtime, changed, request, at=runtime.at)
        action = action_of(name, changed, request, at=runtime.at)
        engine.writer.submit([row, log_entry(row, runtime), version, action]).result()
        engine.add(LivePolicy(row, engine.settings), runtime, version)
        return changed

    def _start_over(self, live: LivePolicy, what: Collection[str], request: ChangeRequest) -> PolicyChange:
        """Serve a damaged policy again, as it was last declared. Its log goes on, and what is damaged stays in it."""
        if {*what} != {MODEL, LEDGER}:
            raise invalid("what", ", ".join(what), f"{MODEL} and {LEDGER}", "Neither can be read: it is damaged.")
        engine, row, at = self._engine, live.row, self._engine.clock()
        with live.lock:
            engine.check_store()
            versions = engine.store.versions(row.policy)
            runtime, notes = started_over(row, versions, last=engine.store.last_seq(row.policy), at=at)
            lost = (
                "what was learned",
                "the accounts of exposure",
                "feedback that is still to come for earlier rankings",
            )
            effects = Effects(kept=("the record of what was shown, as far as it is whole",), lost=lost)
            action = f"reset {LEDGER} and {MODEL} of the damaged policy"
            changed = PolicyChange(runtime.version, True, action, effects, notes, dry_run=request.dry_run)
            if request.dry_run:
                return changed
            version, (meta, arrays) = version_row(row, runtime, changed, request, at=at), runtime.state()
            writes: list[Write] = [
                SkipTo(row.policy, runtime.seq - 1),
                log_entry(row, runtime),
                version,
                action_of(row.name, changed, request, at=at),
                AddSnapshot(row.policy, runtime.seq, at, meta, arrays),
            ]
            engine.submit(live, writes, runtime.seq).result()
            live.start(runtime, [*versions, version], snapshot_seq=runtime.seq)
        return changed

    def _earlier(self, live: LivePolicy, version: int) -> Runtime:
        """The state that an earlier version ended with; a 410 if it is not kept any more."""
        with live.lock:
            before = live.runtime
        if version not in before.specs or version >= before.version:
            raise invalid("version", version, f"an earlier version than {before.version}, the one in force")
        earlier = restored_version(self._engine.store, live.row, version, before.specs)
        if earlier is None:
            raise ServiceError(
                "state_not_kept",
                f"version: the state of version {version} is not kept any more (setting kept_states)",
                status=410,
                field="version",
            )
        return earlier

    def _succeed(
        self, live: LivePolicy, spec: PolicySpec, request: ChangeRequest, *, action: str, drop: Collection[str] = ()
    ) -> PolicyChange:
        with live.lock:
            self._engine.check_store()
            after = next_version(live.runtime, spec, drop=drop)
            changed = described(live.runtime, after, action=action, dry_run=request.dry_run)
            if not changed.goes_ahead(live.row.name, request):
                return changed
            done = self._adopt(live, after.runtime, changed, request)
        done.result()
        return changed

    def _adopt(self, live: LivePolicy, runtime: Runtime, changed: PolicyChange, request: ChangeRequest) -> Future[None]:
        """Go on with another version; under the policy's lock."""
        engine, before, row, at = self._engine, live.runtime, live.row, self._engine.clock()
        meta, arrays = before.state()
        ended = AddState(row.policy, before.version, before.seq, at, meta, arrays, keep=engine.settings.kept_states)
        runtime.seq = before.seq + 1
        version = version_row(row, runtime, changed, request, at=at)
        writes: list[Write] = [ended, log_entry(row, runtime), version, action_of(row.name, changed, request, at=at)]
        done = engine.submit(live, writes, runtime.seq)
        live.replace(runtime, version)
        return done

    def _check_limits(self, spec: PolicySpec) -> None:
        settings = self._engine.settings
        for name, given, most in (
            ("features", spec.n_features, settings.max_features),
            ("length" if spec.pages == 1 else "pages", spec.depth, settings.max_length),
            *(("groups", each.n_groups, settings.max_groups) for each in spec.accounts),
            ("providers", len(spec.providers), settings.max_providers),
            *(("label_fields", len(each.providers), settings.max_providers) for each in spec.label_sources.values()),
            ("items.most", 1 if spec.items is None else spec.items.most, settings.max_items),
        ):
            if given > most:
                raise invalid(name, given, f"at most {most}", "It is a limit of this server.")


def _rolled_back(before: Runtime, earlier: Runtime, version: int, *, dry_run: bool) -> PolicyChange:
    warnings = []
    if before.generation != earlier.generation:
        shown = f"feedback for rankings that version {before.version} has shown"
        warnings.append(f"{shown} is noted, not learned from: another model")
    counts = f"{earlier.totals.rounds:,} rankings, {earlier.totals.updates:,} updates"
    return PolicyChange(
        before.version + 1,
        changed=True,
        action=f"rolled back to version {version}",
        effects=Effects(
            kept=(f"the state that version {version} ended with: {counts}",),
            new=(f"version {before.version} can be rolled back to in turn",),
        ),
        warnings=warnings,
        differences=differences(before.spec, earlier.spec),
        dry_run=dry_run,
    )
