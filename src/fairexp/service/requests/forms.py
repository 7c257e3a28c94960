"""What requests must look like: bodies are decoded into these by msgspec, which stops at the first thing wrong.

Nothing heavy is imported here, because the process that reads large bodies needs this too.
"""

from __future__ import annotations

from typing import Annotated

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
Position = Annotated[int, Meta(ge=1, le=2**53, description="From 1, counted through all pages; instead of `item`.")]
Time = Annotated[float, Meta(ge=0, le=1e12, description="Seconds since 1970.")]
Weight = Annotated[
    float,
    Meta(
        ge=-1e9,
        le=1e9,
        description="Instead of the type's own: what it adds towards the threshold at which the position is clicked.",
    ),
]


Exposure = Annotated[
    float,
    Meta(ge=0, le=1e6, description="Of a position that was seen: what was measured, instead of what the curve says."),
]
Seen = Annotated[
    int,
    Meta(ge=0, le=2**53, description="The last position that was seen, from 1; 0 if nobody opened it. Not a click."),
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


Value = bool | float | str | list[float | str]
FieldValues = Annotated[dict[Name, Value | None], Meta(max_length=2000)]


class ItemGiven(Struct, forbid_unknown_fields=True):
    """One candidate by id; fields that it does not bring are looked up in the policy's items."""

    id: Name
    fields: FieldValues = {}
    group: Label | dict[Label, Label] | None = None


class RankRequest(Struct, forbid_unknown_fields=True):
    """Candidates one by one with their features as numbers; or `items` with fields by name, or `ids` alone, where the
    policy keeps items; or `ids`, `groups` and the matrix as base64.

    `features` is then the base64 of the row-major little-endian float32 matrix (n, d), and `groups` a list, or one for
    each attribute. `fields` stand in for those that items lack. `pinned` says which candidates must stand at which
    positions.
    """

    query_id: Name | None = None
    candidates: list[Candidate] | None = None
    items: list[ItemGiven] | None = None
    fields: FieldValues = {}
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
    after: Annotated[Name, Meta(description="The ranking_id of the page before, which this one continues.")] | None = (
        None
    )


class EventGiven(Struct, forbid_unknown_fields=True):
    """Something a user did. Without `id`, the same type on the same item counts once."""

    id: Name | None = None
    type: Label = "click"
    item: Name | None = None
    position: Position | None = None
    weight: Weight | None = None
    at: Time | None = None
    exposure: Exposure | None = None


class FeedbackGiven(Struct, forbid_unknown_fields=True):
    """Events for one ranking. `final` says that no more will come: learn even if nothing was clicked."""

    ranking_id: Name
    events: list[EventGiven]
    final: bool = False
    seen: Seen | None = None


class FeedbackRequest(Struct, forbid_unknown_fields=True):
    """Feedback for one ranking (`ranking_id`, `events`), or for several (`batch`)."""

    ranking_id: Name | None = None
    events: list[EventGiven] | None = None
    final: bool = False
    seen: Seen | None = None
    batch: list[FeedbackGiven] | None = None


class FieldsGiven(Struct, forbid_unknown_fields=True):
    """Fields of an item or a user: valid from `at` on (now, if it is not given), and before `until`."""

    id: Name
    fields: FieldValues
    at: Time | None = None
    until: Time | None = None


class ItemsRequest(Struct, forbid_unknown_fields=True):
    """Fields of items, and of users, to be kept with a policy."""

    items: list[FieldsGiven] = []
    users: list[FieldsGiven] = []


EXAMPLES = {
    RankRequest: {
        "query_id": "shoes",
        "candidates": [
            {"id": "a", "group": "small", "features": [1.0, 0.2]},
            {"id": "b", "group": "large", "features": [0.3, 0.9]},
        ],
    },
    ItemsRequest: {"items": [{"id": "a", "fields": {"price": 12.5, "seller": "acme", "colors": ["red"]}}]},
    FeedbackRequest: {
        "ranking_id": "1-2-0011223344556677",
        "events": [{"id": "e1", "type": "click", "item": "a"}],
    },
}
