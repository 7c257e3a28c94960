"""The settings of a server: name, default and meaning, in one place. `fairexp serve --set name=value` changes one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from fairexp.errors import ArgumentError


def _setting(default: float, meaning: str) -> Any:
    return field(default=default, metadata={"help": meaning})


@dataclass(frozen=True, slots=True)
class Settings:
    """Limits and intervals; all are numbers.

    >>> Settings().changed({"max_candidates": 50}).max_candidates
    50
    """

    max_body_bytes: int = _setting(4_000_000, "largest body of a rank request")
    max_feedback_bytes: int = _setting(1_000_000, "largest body of a request with feedback")
    max_policy_bytes: int = _setting(1_000_000, "largest body that declares a policy")
    max_bodies_bytes: int = _setting(64_000_000, "memory for bodies of all requests; beyond, the largest gets a 503")
    large_body_bytes: int = _setting(160_000, "larger bodies are read in a process of its own")
    max_waiting_bodies: int = _setting(16, "most large bodies that wait to be read; more get a 503")
    max_header_bytes: int = _setting(32_000, "largest head of a request, from its first line to its last header")
    header_seconds: float = _setting(10, "time for the head of a request to arrive, and for an answer to be taken")
    idle_seconds: float = _setting(30, "after this time without a request a connection is closed")
    max_connections: int = _setting(5000, "most connections; fewer where the system allows fewer open files")
    max_candidates: int = _setting(1000, "most candidates in one request")
    max_features: int = _setting(2000, "most features of a policy")
    max_length: int = _setting(100, "most positions that a policy may show")
    max_groups: int = _setting(20, "most groups of a policy")
    max_policies: int = _setting(100, "most policies side by side")
    max_batch: int = _setting(1000, "most rankings in one feedback batch")
    max_events: int = _setting(1000, "most events in one request, and for one ranking in all")
    max_waiting_rankings: int = _setting(128, "most rankings of a policy under way at once; more get a 503")
    max_waiting_feedback: int = _setting(512, "most requests with feedback under way at once; more get a 503")
    requests_per_second: float = _setting(0, "rate allowed to each key, unless the key has its own; 0 for no limit")
    snapshot_every: int = _setting(1000, "log entries between two snapshots of a policy")
    kept_states: int = _setting(100, "earlier versions of a policy whose state is kept, to roll back to")
    cached_bytes: int = _setting(32_000_000, "memory for rankings of each policy at hand for feedback")
    maintenance_seconds: float = _setting(30, "time between two rounds of expiry and compaction")
    keys_refresh_seconds: float = _setting(1, "after this time a new or revoked key is known")
    retry_seconds: float = _setting(0.5, "time between two attempts to reach a store that failed")
    drain_seconds: float = _setting(10, "how long a shutdown waits for requests under way")

    def changed(self, values: Mapping[str, Any]) -> Settings:
        """A copy with these settings; unknown names and values that make no sense are refused."""
        known = {each.name: each for each in fields(self)}
        checked: dict[str, Any] = {}
        for name, value in values.items():
            if name not in known:
                raise ArgumentError("setting", repr(name), "one of " + ", ".join(known))
            whole = isinstance(known[name].default, int) and known[name].type != "float"
            least = 0 if name == "requests_per_second" else 1 if whole else 0.01
            fits = isinstance(value, int) if whole else isinstance(value, int | float)
            if isinstance(value, bool) or not fits or not least <= value < 1e15:
                wanted = "a whole number" if whole else "a number"
                raise ArgumentError(f"setting {name}", repr(value), f"{wanted} of at least {least}")
            checked[name] = value
        return replace(self, **checked)


def settings_table() -> list[tuple[str, float, str]]:
    """(name, default, meaning) of every setting, for help and documentation."""
    return [(each.name, each.default, each.metadata["help"]) for each in fields(Settings)]  # type: ignore[misc]
