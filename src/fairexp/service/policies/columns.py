"""What a policy's requests bring. Nothing heavy is imported: the process that reads large bodies needs this too."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Columns:
    """The features that a policy's requests bring, and the field that holds an item's group.

    `label_fields` are (attribute, field): where labels by attribute come from. `stored` says that the policy keeps
    items, so that a request may leave out what is kept of them.
    """

    names: tuple[str, ...]
    defaults: tuple[float | None, ...]
    group_field: str | None = None
    stored: bool = False
    label_fields: tuple[tuple[str, str], ...] = ()
