"""What happens to a policy when it is declared, changed, rolled back or removed: a change, checked, then applied."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import orjson

from fairexp.arrays import Ints
from fairexp.errors import StateError
from fairexp.fairness.ledger import within
from fairexp.rankers.bandits.per_query import PerQuery
from fairexp.remap import NEW, Remap
from fairexp.service.engine.engine import Engine
from fairexp.service.engine.live_policy import LivePolicy
from fairexp.service.engine.recovery import load_policy, restored_version, started_over
from fairexp.service.engine.runtime import Runtime
from fairexp.service.policies.constraints import ConstraintSpec
from fairexp.service.policies.rankers import build_ranker, curve_notes, resolve_parameters, try_out
from fairexp.service.policies.spec import PolicySpec
from fairexp.service.policies.versions import matched, same_labels
from fairexp.service.problems import ServiceError, invalid
from fairexp.service.store.base import (
    ADMINISTRATION,
    AddAction,
    AddPolicy,
    AddSnapshot,
    AddState,
    AddVersion,
    Append,
    DeletePolicy,
    Kind,
    SkipTo,
    Store,
    Write,
)
from fairexp.service.store.chain import checked
from fairexp.service.store.codec import pack, unpack


def latest_actions(store: Store, *, limit: int, before: int | None = None) -> list[dict[str, Any]]:
    """The latest actions, newest first, below the number `before` if given: when, who, what, to which policy."""
    entries = store.latest(ADMINISTRATION.policy, Kind.ACTION, limit=limit, before=before)
    return [{"number": entry.seq, "at": entry.at, **unpack(checked(entry).payload)[0]} for entry in entries]


MODEL, LEDGER = "model", "ledger"


@dataclass(frozen=True, slots=True)
class Effects:
    """What a change does to what a policy has, in words."""

    kept: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()

    def plain(self) -> dict[str, list[str]]:
        """As JSON."""
        return {"kept": list(self.kept), "new": list(self.new), "lost": list(self.lost)}


@dataclass(frozen=True, slots=True, eq=False)
class NextVersion:
    """The next version of a policy, what it does to what there is, and warnings."""

    runtime: Runtime
    effects: Effects
    warnings: list[str]


def next_version(before: Runtime, spec: PolicySpec, *, drop: Collection[str] = ()) -> NextVersion:
    """The version that comes after `before`, which stays as it is; `drop` names what shall start anew.

    Features and groups are matched by name, and everything that still makes sense is taken over.
    """
    parameters = resolve_parameters(spec, before=(before.spec, before.parameters))
    ranker, warnings = build_ranker(spec, parameters)
    remap, offset = matched(before.spec, spec)
    comparable = (before.spec.scaling == "query") == (spec.scaling == "query")
    model = MODEL not in drop and comparable and type(ranker.learner) is type(before.ranker.learner)
    account = LEDGER not in drop and type(ranker) is type(before.ranker) and same_labels(before.spec, spec)
    runtime = Runtime(
        spec,
        ranker,
        before.totals.changed(
            _same_accounts(before.accounts, spec.accounts),
            shares=[each.fixed_shares for each in spec.accounts],
            length=spec.depth,
            account=account or not (ranker.keeps_account or LEDGER in drop),
        ),
        parameters=parameters,
        version=before.version + 1,
        generation=before.generation,
        n_generations=before.n_generations,
        seq=before.seq,
        specs=before.specs,
    )
    runtime.at, runtime.counters = before.at, before.counters.copy()
    if comparable and MODEL not in drop:
        runtime.scale.take_over(before.scale, remap, offset)
        runtime.ranker = ranker = build_ranker(spec, parameters, scale=runtime.scale.scale)[0]
    seen = _in_units(remap, before, runtime)
    same = before.parameters == parameters and before.spec.length == spec.length
    same = same and before.spec.constraints == spec.constraints and before.spec.prior == spec.prior
    if model and account and seen.is_identity and same:
        ranker.restore(before.ranker.state())  # to the bit
        runtime.drawn.restore(before.drawn.state())
    else:
        try:
            ranker.take_over(before.ranker, seen, model=model, account=account)
        except StateError:
            model = False
            ranker.take_over(before.ranker, seen, model=False, account=account)
        if account:
            runtime.drawn.take_over(before.drawn, seen)
    if not model:
        runtime.begin_generation()
    effects = _effects(before, runtime, remap, model=model, account=account)
    return NextVersion(runtime, effects, [*warnings, *curve_notes(ranker), *_wider_gap(before, runtime)])


def _same_accounts(before: list[ConstraintSpec], now: list[ConstraintSpec]) -> list[tuple[int, Ints]]:
    """For each constraint its number before (or `NEW`), and the number before of each of its groups."""
    numbers = {each.title: number for number, each in enumerate(before)}
    found = []
    for each in now:
        which = numbers.get(each.title, NEW)
        known = [] if which == NEW else before[which].group_names
        groups = Remap.by_name([], before=[], groups=each.group_names, groups_before=known).groups
        found.append((which, groups))
    return found


def _in_units(remap: Remap, before: Runtime, after: Runtime) -> Remap:
    """The remap of features as rankers see them: in the running scale of each version."""
    stay = remap.features != NEW
    factors = remap.factors.copy()
    factors[stay] *= before.scale.scale[remap.features[stay]] / after.scale.scale[stay]
    return replace(remap, factors=factors)


def _effects(before: Runtime, after: Runtime, remap: Remap, *, model: bool, account: bool) -> Effects:
    totals, old, new = before.totals, before.spec, after.spec
    gone = [name for name, stays in _staying(old.feature_names, new.feature_names) if not stays]
    fresh = [name for name, was_there in _staying(new.feature_names, old.feature_names) if not was_there]
    by_feature = model and not isinstance(before.ranker.learner, PerQuery)  # those know nothing of features
    kept: list[str] = []
    lost: list[str] = []
    if totals.updates:
        learned = f"what was learned in {totals.updates:,} updates"
        (kept if model else lost).append(learned)
        lost += [f"what was learned of feature {name!r}" for name in gone if by_feature]
    if not model and totals.rounds:
        lost.append("feedback that is still to come for earlier rankings: it is noted and not learned from")
    if before.ranker.keeps_account and totals.rounds:
        staying = set(_told_groups(new.accounts)) if account else set()
        for name, amount in zip(_told_groups(old.accounts), np.concatenate(totals.exposures), strict=True):
            (kept if name in staying else lost).append(f"the account of {name} (exposure {amount:.4g})")
    believed = new.prior.weights if new.prior is not None else {}
    added = [f"feature {name!r} starts at weight {believed.get(name, 0.0):g}" for name in fresh if by_feature]
    if after.ranker.keeps_account:
        was_there = set(_told_groups(old.accounts)) if account else set()
        starts = zip(_told_groups(new.accounts), np.concatenate(after.totals.exposures), strict=True)
        added += [f"{name} starts at exposure {amount:.4g}" for name, amount in starts if name not in was_there]
    return Effects(tuple(kept), tuple(added), tuple(lost))


def _told_groups(accounts: list[ConstraintSpec]) -> list[str]:
    """Every group of every constraint in words, the constraint named where `groups` does not stand for it."""
    return [
        f"group {name!r}" + ("" if each.title == "groups" else f" of {each.title!r}")
        for each in accounts
        for name in each.group_names
    ]


def _staying(names: list[str], others: list[str]) -> list[tuple[str, bool]]:
    known = set(others)
    return [(name, name in known) for name in names]


def _wider_gap(before: Runtime, after: Runtime) -> list[str]:
    """A warning where the account is further outside the tolerance than it was, because shares or tolerance changed."""

    def excess(runtime: Runtime) -> dict[str, float]:
        accounts = enumerate(runtime.accounts) if runtime.is_fair else ()
        return {each.title: runtime.account(number).gap - each.tolerance for number, each in accounts}

    was, tolerances = excess(before), {each.title: each.tolerance for each in after.accounts}
    return [
        f"{name}: the account begins {amount:.4g} beyond the tolerance of {tolerances[name]:g}, and rankings will make "
        "up for it. Reset the ledger if they shall not."
        for name, amount in excess(after).items()
        if not within(amount, max(was.get(name, 0.0), 0.0))
    ]


def differences(before: PolicySpec, after: PolicySpec, *, form: str = "{}: {}, now {}") -> list[str]:
    """Where two policies differ, a line each.

    >>> one = PolicySpec(features=["a"], ranker="pdgd")
    >>> differences(one, one.model_copy(update={"length": 5}))
    ['length: 10, now 5']
    """
    old, new = _flat(before.model_dump(mode="json")), _flat(after.model_dump(mode="json"))
    keys = [*old, *(key for key in new if key not in old)]
    return [
        form.format(key, old.get(key, "nothing"), new.get(key, "nothing"))
        for key in keys
        if old.get(key, "nothing") != new.get(key, "nothing")
    ]


def _flat(value: Any, path: str = "") -> dict[str, Any]:
    if not isinstance(value, dict):
        return {path: value}
    found: dict[str, Any] = {}
    for key, each in value.items():
        found.update(_flat(each, f"{path}.{key}" if path else str(key)))
    return found


Origin = Literal["file", "api"]


@dataclass(frozen=True, slots=True)
class ChangeRequest:
    """Who asks for a change, whether it may lose what its effects name, and whether to tell only."""

    by: str = "unknown"
    origin: Origin = "api"
    discard: bool = False
    dry_run: bool = False


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

    def goes_ahead(self, policy: str, request: ChangeRequest) -> bool:
        """Whether to do it; a 409 that says what would go if that was not said to be right."""
        if request.dry_run:
            return False
        if self.effects.lost and not request.discard:
            raise ServiceError(
                "would_lose",
                f"policy {policy}: this change would lose {'; '.join(self.effects.lost)}. Nothing was changed. "
                "Ask again with discard=true (--discard) if that shall go, or with dry_run=true (--dry-run) to see all "
                "that it does",
                status=409,
                field="discard",
            )
        return True


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


Prefer = Literal["file", "store"]


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
        as_it_is = left_alone(name, spec, before, versions, prefer) if known else None
        if as_it_is is not None:
            yield name, as_it_is
        elif before is None:
            yield name, PolicyChange(1, True, "created", warnings=Runtime.new(spec)[1], dry_run=True)
        elif before.spec == spec:
            yield name, PolicyChange(before.version, False, "as it was", dry_run=True)
        else:
            yield name, described(before, next_version(before, spec), action="changed", dry_run=True)


def left_alone(
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


def described(before: Runtime, after: NextVersion, *, action: str, dry_run: bool) -> PolicyChange:
    """What going on with the next version does."""
    return PolicyChange(
        after.runtime.version,
        changed=True,
        action=action,
        effects=after.effects,
        warnings=after.warnings,
        differences=differences(before.spec, after.runtime.spec),
        dry_run=dry_run,
    )


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
