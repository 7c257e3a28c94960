"""Policies that a file declares, beside what was changed over the API since."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from fairexp.service.administration.change import PolicyChange
from fairexp.service.administration.next_version import NextVersion, differences, next_version
from fairexp.service.engine.recovery import load_policy
from fairexp.service.engine.runtime import Runtime
from fairexp.service.policies.spec import PolicySpec
from fairexp.service.problems import ServiceError
from fairexp.service.store.base import AddVersion, Store

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
