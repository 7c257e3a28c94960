"""From fields by name to features: those that a request brings, those that are stored, and defaults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairexp.arrays import Bools
from fairexp.service.policies.columns import Columns
from fairexp.service.problems import ServiceError, invalid
from fairexp.service.requests.asked import Asked, Group, plain_problem

REMEDY = "Send the field, store it with the item, or give the feature a default in the policy."


def by_name(
    items: Sequence[Mapping[str, Any]], shared: Mapping[str, Any], columns: Columns
) -> tuple[NDArray[np.float32], list[Group], ServiceError | None]:
    """Features (n, d) and groups (n) by the items' own fields or `shared` ones, and what is wrong with them.

    What neither has is NaN, or no group.
    """
    rows = np.full((len(items), len(columns.names)), np.nan)
    groups: list[Group] = [None] * len(items)
    problem: ServiceError | None = None
    for number, own in enumerate(items):
        for place, name in enumerate(columns.names):
            value = own.get(name, shared.get(name))
            if value is None:
                continue
            if isinstance(value, bool | int | float):
                rows[number, place] = value
            else:
                problem = problem or _not_a_number(number, type(value).__name__, name)
        groups[number] = _group(own, shared, columns)
    with np.errstate(over="ignore"):  # what overflows float32 is refused as infinite
        return rows.astype(np.float32), groups, problem


def lacking(asked: Asked, columns: Columns) -> list[int]:
    """The places of items of which a request does not bring everything that could be looked up."""
    lacks = _without_features(asked)
    if columns.group_field is not None or columns.label_fields:
        lacks = lacks | np.array([_lacks_label(group, columns) for group in asked.groups], dtype=np.bool_)
    found: list[int] = np.flatnonzero(lacks).tolist()
    return found


def filled(
    asked: Asked, columns: Columns, items: Mapping[str, Mapping[str, Any]], user: Mapping[str, Any] | None = None
) -> Asked:
    """The request with what is stored of its `items` and its `user` where it brings nothing itself, and defaults.

    What is still missing then is its problem.
    """
    if asked.problem is not None:
        return asked
    if items or user:
        known, shared = [items.get(name, {}) for name in asked.ids], user or {}
        groups = [
            completed(group, _group(own, shared, columns)) for own, group in zip(known, asked.groups, strict=True)
        ]
        asked = replace(asked, groups=groups)
    where = np.flatnonzero(_without_features(asked))
    if not len(where):
        return asked
    found, _, problem = by_name([items.get(asked.ids[place], {}) for place in where], user or {}, columns)
    defaults = np.array([np.nan if each is None else each for each in columns.defaults], dtype=np.float32)
    features, given = asked.features.copy(), asked.features[where]
    features[where] = np.where(np.isnan(given), np.where(np.isnan(found), defaults, found), given)
    missing = np.argwhere(np.isnan(features))
    if len(missing):
        row, place = missing[0].tolist()
        problem = problem or _not_a_number(row, "nothing", columns.names[place])
    else:
        problem = None  # a stored text, where the request brings the number
    return replace(asked, features=features, problem=plain_problem(problem))


def _without_features(asked: Asked) -> Bools:
    """Which items (n,) lack a feature; in other forms than "items" none does."""
    if asked.form != "items" or asked.problem is not None:
        return np.zeros(len(asked.ids), dtype=np.bool_)
    return np.asarray(np.isnan(asked.features).any(axis=1))


def completed(given: Group, found: Group) -> Group:
    """What a request says of an item's group, and of attributes that it leaves out what was found.

    >>> completed({"type": "text"}, {"type": "video", "seller": "acme"}), completed(None, "small")
    ({'type': 'text', 'seller': 'acme'}, 'small')
    """
    if isinstance(given, dict) and isinstance(found, dict):
        return {**found, **given}
    return found if given is None else given


def _lacks_label(given: Group, columns: Columns) -> bool:
    if isinstance(given, dict):
        return any(attribute not in given for attribute, _ in columns.label_fields)
    return given is None


def _group(own: Mapping[str, Any], shared: Mapping[str, Any], columns: Columns) -> Group:
    """The group that fields name, or the labels by attribute that they do."""
    if columns.group_field is not None:
        value = own.get(columns.group_field, shared.get(columns.group_field))
        return None if value is None else str(value)
    named = {attribute: own.get(field, shared.get(field)) for attribute, field in columns.label_fields}
    return {attribute: str(value) for attribute, value in named.items() if value is not None} or None


def _not_a_number(row: int, given: str, name: str) -> ServiceError:
    return invalid(f"items[{row}].fields", f"{given} for {name!r}", "a number", REMEDY)
