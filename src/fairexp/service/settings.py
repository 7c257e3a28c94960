"""The settings of a server: name, default and meaning, in one place. `fairexp serve --set name=value` changes one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from fairexp.errors import ArgumentError
from fairexp.validation_messages import found_by_pydantic

MOST = 10**15
Whole = Annotated[int, Field(ge=1, lt=MOST)]
Seconds = Annotated[float, Field(ge=0.01, lt=MOST)]
Rate = Annotated[float, Field(ge=0, lt=MOST)]


class ServerSettings(BaseModel):
    """Limits and intervals; all are numbers.

    >>> ServerSettings().changed({"max_candidates": 50}).max_candidates
    50
    """

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", use_attribute_docstrings=True)

    max_body_bytes: Whole = 4_000_000
    """largest body of a rank request"""
    max_feedback_bytes: Whole = 1_000_000
    """largest body of a request with feedback"""
    max_policy_bytes: Whole = 1_000_000
    """largest body that declares a policy"""
    max_bodies_bytes: Whole = 64_000_000
    """memory for bodies of all requests; beyond, the largest gets a 503"""
    large_body_bytes: Whole = 160_000
    """larger bodies are read in a separate process"""
    max_waiting_bodies: Whole = 16
    """most large bodies that wait to be read; more get a 503"""
    max_header_bytes: Whole = 32_000
    """largest head of a request, from its first line to its last header"""
    header_seconds: Seconds = 10
    """time for the head of a request to arrive, and for an answer to be taken"""
    idle_seconds: Seconds = 30
    """after this time without a request a connection is closed"""
    max_connections: Whole = 5000
    """most connections; fewer where the system allows fewer open files"""
    max_candidates: Whole = 1000
    """most candidates in one request"""
    max_features: Whole = 2000
    """most features of a policy"""
    max_length: Whole = 100
    """most positions that a policy may show"""
    max_groups: Whole = 20
    """most groups of a policy"""
    max_items: Whole = 100_000
    """most items, and most users, whose fields a policy may keep"""
    max_item_bytes: Whole = 16_000
    """most that the fields of one item take; beyond, those that began longest ago go"""
    max_providers: Whole = 10_000
    """most providers whose group a policy may name"""
    max_policies: Whole = 100
    """most policies side by side"""
    max_batch: Whole = 1000
    """most rankings in one feedback batch"""
    max_events: Whole = 1000
    """most events in one request, and for one ranking in all"""
    max_listed_bytes: Whole = 1_000_000
    """most bytes of records that are read for one list of rankings; the next page has the rest"""
    max_waiting_rankings: Whole = 128
    """most rankings of a policy under way at once; more get a 503"""
    max_waiting_feedback: Whole = 512
    """most requests with feedback under way at once; more get a 503"""
    requests_per_second: Rate = 0
    """rate allowed to each key, unless the key has its own; 0 for no limit"""
    unauthenticated_per_second: Rate = 10
    """rate allowed to each address without a valid key; more get a 429; 0 for no limit"""
    snapshot_every: Whole = 1000
    """log entries between two snapshots of a policy"""
    kept_states: Whole = 100
    """earlier versions of a policy whose state is kept, to roll back to"""
    cached_bytes: Whole = 32_000_000
    """memory for rankings of each policy at hand for feedback"""
    maintenance_seconds: Seconds = 30
    """time between two rounds of expiry and compaction"""
    keys_refresh_seconds: Seconds = 1
    """after this time a new or revoked key is known"""
    retry_seconds: Seconds = 0.5
    """time between two attempts to reach a store that failed"""
    drain_seconds: Seconds = 10
    """how long a shutdown waits for requests under way"""

    def changed(self, values: Mapping[str, Any]) -> ServerSettings:
        """A copy with these settings; unknown names and values that make no sense are refused."""
        for name in values:
            if name not in type(self).model_fields:
                raise ArgumentError("setting", repr(name), "one of " + ", ".join(type(self).model_fields))
        try:
            return type(self).model_validate({**self.model_dump(), **values})
        except ValidationError as error:
            mistake = found_by_pydantic(error.errors())
            raise ArgumentError(f"setting {mistake.field}", mistake.given, mistake.expected) from None


def settings_table() -> list[tuple[str, float, str]]:
    """(name, default, meaning) of every setting, for help and documentation."""
    fields = ServerSettings.model_fields.items()
    return [(name, each.default, each.description or "") for name, each in fields]
