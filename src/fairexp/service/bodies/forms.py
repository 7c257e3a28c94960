"""What requests must look like: bodies are decoded into these by msgspec, which stops at the first thing wrong.

Nothing heavy is imported here, because the process that reads large bodies needs this too.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

Name = Annotated[str, Meta(min_length=1, max_length=256)]
Label = Annotated[str, Meta(min_length=1, max_length=128)]
RequestId = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=256,
        description="Yours, and new for each ranking: asking again with it gives the same answer again.",
    ),
]
Count = Annotated[int, Meta(ge=1, le=2**53)]
Position = Annotated[int, Meta(ge=1, le=2**53, description="From 1; instead of `item`.")]
Time = Annotated[float, Meta(ge=0, le=1e12, description="Seconds since 1970.")]
Weight = Annotated[
    float,
    Meta(
        ge=-1e9,
        le=1e9,
        description="Instead of the type's own: what it adds towards the threshold at which the position is clicked.",
    ),
]


PinnedAt = Annotated[int, Meta(ge=1, le=2**53, description="The position, from 1, at which the candidate must stand.")]
Attention = Annotated[
    float,
    Meta(
        gt=0, le=1e6, description="What attention is worth this time, where 1 is usual: exposure is charged times it."
    ),
]


class Candidate(Struct, forbid_unknown_fields=True):
    """One candidate; features in the policy's order. `group` is by attribute where the policy has `constraints`."""

    id: Name
    features: list[float]
    group: Label | dict[Label, Label] | None = None


class RankRequest(Struct, forbid_unknown_fields=True):
    """Candidates one by one with their features as numbers; or `ids`, `groups` and the matrix as base64.

    `features` is then the base64 of the row-major little-endian float32 matrix (n, d), and `groups` a list, or one for
    each attribute. `pinned` says which candidates must stand at which positions.
    """

    query_id: Name | None = None
    candidates: list[Candidate] | None = None
    ids: list[Name] | None = None
    groups: list[Label] | dict[Label, list[Label]] | None = None
    features: str | None = None
    k: Count | None = None
    pinned: dict[Name, PinnedAt] = {}
    segment: Name | None = None
    weight: Attention | None = None
    user: Name | None = None
    session: Name | None = None
    request_id: RequestId | None = None


class EventGiven(Struct, forbid_unknown_fields=True):
    """Something a user did. Without `id`, the same type on the same item counts once."""

    id: Name | None = None
    type: Label = "click"
    item: Name | None = None
    position: Position | None = None
    weight: Weight | None = None
    at: Time | None = None


class FeedbackGiven(Struct, forbid_unknown_fields=True):
    """Events for one ranking. `final` says that no more will come: learn even if nothing was clicked."""

    ranking_id: Name
    events: list[EventGiven]
    final: bool = False


class FeedbackRequest(Struct, forbid_unknown_fields=True):
    """Feedback for one ranking (`ranking_id`, `events`), or for several (`batch`)."""

    ranking_id: Name | None = None
    events: list[EventGiven] | None = None
    final: bool = False
    batch: list[FeedbackGiven] | None = None


class MetarankField(Struct):
    """A named value, as Metarank's clients send it."""

    name: Name
    value: bool | float | str | list[float | str] | None = None


class MetarankItem(Struct):
    """An item to rank."""

    id: Name
    fields: list[MetarankField] = []


class MetarankRanking(Struct):
    """Metarank's ranking request and ranking event."""

    id: Name
    items: list[MetarankItem]
    event: Literal["ranking"] = "ranking"
    timestamp: str | int | None = None
    user: Name | None = None
    session: Name | None = None
    fields: list[MetarankField] = []


class MetarankInteraction(Struct):
    """Metarank's interaction event; one without `ranking` cannot be learned from here and is counted as ignored."""

    event: Literal["interaction"]
    id: Name
    type: Label
    item: Name
    ranking: Name | None = None
    timestamp: str | int | None = None
    user: Name | None = None
    session: Name | None = None
    fields: list[MetarankField] = []


class MetarankMetadata(Struct):
    """Metarank's item and user events: accepted, and ignored, because features come with each request here."""

    event: Literal["item", "user"]
    id: Name | None = None


EXAMPLES = {
    RankRequest: {
        "query_id": "shoes",
        "candidates": [
            {"id": "a", "group": "small", "features": [1.0, 0.2]},
            {"id": "b", "group": "large", "features": [0.3, 0.9]},
        ],
    },
    FeedbackRequest: {
        "ranking_id": "1-2-0011223344556677",
        "events": [{"id": "e1", "type": "click", "item": "a"}],
    },
}
