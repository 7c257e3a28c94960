"""A change of a policy: who asks for it, and what it did or would do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from fairexp.service.administration.next_version import Effects
from fairexp.service.problems import ServiceError

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
