"""What two versions of a policy have in common: features and groups of the same names."""

from __future__ import annotations

import numpy as np

from fairexp.arrays import Floats
from fairexp.remap import NEW, Remap
from fairexp.service.policies.scaling import DeclaredScale
from fairexp.service.policies.spec import PolicySpec


def matched(before: PolicySpec, now: PolicySpec) -> tuple[Remap, Floats]:
    """Which features and groups of `now` are those of `before`, and the offset (d,) in value of those that stay.

    A value from before is multiplied by the remap's factor, and the offset added, where another shift or scale was
    declared.
    """
    old, new = DeclaredScale(before), DeclaredScale(now)
    places = Remap.by_name(now.feature_names, before=before.feature_names).features
    stay = places != NEW
    factors, offset = np.ones(len(places)), np.zeros(len(places))
    factors[stay] = old.scale[places[stay]] / new.scale[stay]
    offset[stay] = (old.shift[places[stay]] - new.shift[stay]) / new.scale[stay]
    remap = Remap.by_name(
        now.feature_names,
        before=before.feature_names,
        factors=factors,
        groups=now.group_names,
        groups_before=before.group_names,
    )
    return remap, offset


def same_labels(before: PolicySpec, now: PolicySpec) -> bool:
    """Whether groups of constraints that stay are numbered as before; more may come after them."""
    old = {each.title: each.group_names for each in before.constraints}
    return all(
        each.group_names[: len(old[each.title])] == old[each.title] for each in now.constraints if each.title in old
    ) and all(now.attributes.get(name, labels)[: len(labels)] == labels for name, labels in before.attributes.items())
