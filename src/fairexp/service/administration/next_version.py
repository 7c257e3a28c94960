"""From one version of a policy to the next: what stays, what is new, and what would be lost."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairexp.arrays import Ints
from fairexp.errors import StateError
from fairexp.fairness.ledger import within
from fairexp.rankers.bandits.parts.per_query import PerQuery
from fairexp.rankers.matching import NEW, Matching
from fairexp.service.engine.runtime import Runtime
from fairexp.service.policies.constraints import ConstraintSpec
from fairexp.service.policies.rankers import build_ranker, curve_notes, resolve_parameters
from fairexp.service.policies.spec import PolicySpec
from fairexp.service.policies.versions import matched, same_labels

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
    matching, offset = matched(before.spec, spec)
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
        runtime.scale.take_over(before.scale, matching, offset)
        runtime.ranker = ranker = build_ranker(spec, parameters, scale=runtime.scale.scale)[0]
    seen = _in_units(matching, before, runtime)
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
    effects = _effects(before, runtime, matching, model=model, account=account)
    return NextVersion(runtime, effects, [*warnings, *curve_notes(ranker), *_wider_gap(before, runtime)])


def _same_accounts(before: list[ConstraintSpec], now: list[ConstraintSpec]) -> list[tuple[int, Ints]]:
    """For each constraint its number before (or `NEW`), and the number before of each of its groups."""
    numbers = {each.title: number for number, each in enumerate(before)}
    found = []
    for each in now:
        which = numbers.get(each.title, NEW)
        known = [] if which == NEW else before[which].group_names
        groups = Matching.by_name([], before=[], groups=each.group_names, groups_before=known).groups
        found.append((which, groups))
    return found


def _in_units(matching: Matching, before: Runtime, after: Runtime) -> Matching:
    """The matching of features as rankers see them: in the running scale of each version."""
    stay = matching.features != NEW
    factors = matching.factors.copy()
    factors[stay] *= before.scale.scale[matching.features[stay]] / after.scale.scale[stay]
    return replace(matching, factors=factors)


def _effects(before: Runtime, after: Runtime, matching: Matching, *, model: bool, account: bool) -> Effects:
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
