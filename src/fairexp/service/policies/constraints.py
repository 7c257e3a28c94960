"""What a policy asks of fairness: between which groups of candidates, what each is owed, and how closely."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Discriminator, Field, Tag, model_validator

from fairexp.arrays import Floats
from fairexp.service.policies.forms import Label, Positive, Strict

Rounds = Annotated[int, Field(ge=1, le=10**9)]
BETWEEN = " x "
"""What stands between the labels of an intersection, and between the attributes in a name."""


def _is_table(value: Any) -> str:
    return "~table" if isinstance(value, dict) else "~word"


MOST_GROUPS = 1000
MOST_HELD = 5_000_000
"""Numbers that the accounts of a constraint may come to, in memory and in each snapshot: 16 bytes each at the most."""

TAKEN = "groups"
"""How the short form's constraint is called."""


class ConstraintSpec(Strict):
    """One constraint: the labels of one attribute of candidates, or of several, whose intersections are the groups.

    >>> both = ConstraintSpec(labels={"provider": ["small", "large"], "type": ["news", "video"]})
    >>> both.title, both.group_names
    ('provider x type', ['small x news', 'small x video', 'large x news', 'large x video'])
    """

    labels: dict[Label, Annotated[list[Label], Field(min_length=2, max_length=1000)]] = Field(
        min_length=1, max_length=4, description="The labels of an attribute of candidates; of several: intersections."
    )
    name: Label | None = Field(default=None, description="What it is called; by default as its attributes are.")
    shares: Annotated[
        Annotated[dict[Label, Positive], Field(max_length=1000), Tag("~table")]
        | Annotated[Literal["equal", "size", "merit"], Tag("~word")],
        Discriminator(_is_table),
    ] = Field(
        default="equal",
        description="What each group is owed: shares by group, or equal ones, or as many as there are candidates of it "
        "(size), or as its candidates are clicked where they are seen (merit).",
    )
    tolerance: Annotated[float, Field(ge=0)] = 0.1
    window: Rounds | None = Field(default=None, description="Number of the latest rankings that count.")
    half_life: Annotated[float, Field(gt=0, le=1e9)] | None = Field(
        default=None, description="After so many rankings exposure counts half."
    )
    per: Literal["query", "segment"] | None = Field(
        default=None, description="An account for each query, or for each segment that requests name."
    )
    max_ledgers: Annotated[int, Field(ge=1, le=1_000_000)] = Field(
        default=10_000, description="Most of these; beyond, the one charged longest ago goes, and starts anew."
    )

    @model_validator(mode="after")
    def _consistent(self) -> ConstraintSpec:
        if TAKEN in (self.title, *self.labels):
            raise ValueError(f"name: expected another word than {TAKEN!r}, which is the short form, got it")
        if self.n_groups > MOST_GROUPS:
            raise ValueError(f"labels: expected at most {MOST_GROUPS} groups in all, got {self.n_groups}")
        for attribute, labels in self.labels.items():
            if len(set(labels)) < len(labels):
                raise ValueError(f"labels.{attribute}: expected labels that differ, got one of them again")
        if isinstance(self.shares, dict) and set(self.shares) != set(self.group_names):
            raise ValueError(
                f"shares: expected a number for each of {', '.join(self.group_names)}, got {', '.join(self.shares)}"
            )
        if self.window is not None and self.half_life is not None:
            raise ValueError("window: expected a window or a half_life, got both")
        held = self.n_groups * (self.window or 1) * (self.max_ledgers if self.per else 1)
        if held > MOST_HELD:
            raise ValueError(
                f"window: expected at most {MOST_HELD:,} numbers in all (groups x window x max_ledgers), got {held:,}"
            )
        return self

    @property
    def title(self) -> str:
        return self.name or BETWEEN.join(self.labels)

    @property
    def attributes(self) -> list[tuple[str, int]]:
        """What it goes by, each with how many labels it has."""
        return [(name, len(labels)) for name, labels in self.labels.items()]

    @property
    def n_groups(self) -> int:
        return prod(size for _, size in self.attributes)

    @property
    def group_names(self) -> list[str]:
        return [BETWEEN.join(labels) for labels in product(*self.labels.values())]

    @property
    def fixed_shares(self) -> Floats | None:
        """What each group (G,) is owed, where that does not follow from what happens."""
        if isinstance(self.shares, dict):
            return np.array([self.shares[name] for name in self.group_names])
        return np.ones(self.n_groups) if self.shares == "equal" else None
