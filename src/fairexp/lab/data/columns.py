"""Which column of a table holds what, by its name, and which columns are no features.

A feature that holds what is to be predicted, or what a ranker did before, makes every figure too good. So whatever
has another meaning by its name is left out, with a note; naming it under `features` brings it back.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairexp.errors import ArgumentError, DataError, did_you_mean

ROLES = {
    "query": ("query", "qid", "query_id"),
    "grade": ("grade", "label", "relevance", "rel", "y", "grades", "labels", "relevance_label", "relevance_grade"),
    "group": ("group", "group_id", "provider", "provider_group"),
}
"""What columns are called, in any letter case; of queries and groups the first that is there counts."""

_OTHER_MEANINGS = {
    "an index": r"|unnamed: \d+(\.\d+)?|index|row(_?(id|index|number))?|(__index_)?level_\d+(__)?",
    "clicks": r"((is|n|num)_)?click(s|ed)?(_count)?",
    "a position": r"positions?|pos|rank|ranking",
    "a propensity": r"propensity",
    "an id": r"(doc|document|item)(_?(ids?|idx|index|no|number))?|([^_]+_)*(ids?|idx|uuid|guid)"
    r"|(product|seller|session|user)ids?",
}
_MOST_LISTED = 12


@dataclass(frozen=True)
class Columns:
    """Which columns hold what; what is None is found by `ROLES`, and features are all others that mean nothing else.

    >>> Columns.parse("query=session,features=price+rating")
    Columns(query='session', grade=None, group=None, features=('price', 'rating'))
    """

    query: str | None = None
    grade: str | None = None
    group: str | None = None
    features: tuple[str, ...] | None = None

    @classmethod
    def parse(cls, text: str) -> Columns:
        """The columns that a text such as `query=session,grade=stars,group=seller,features=price+rating` names."""
        given: dict[str, Any] = {}
        for part in text.split(","):
            key, separator, name = part.partition("=")
            if not separator or not name or key not in (*ROLES, "features") or key in given:
                expected = "parts such as query=session,grade=stars,group=seller,features=price+rating"
                raise ArgumentError("columns", repr(text), expected)
            given[key] = tuple(name.split("+")) if key == "features" else name
        return cls(**given)

    def among(self, names: Sequence[str], where: str | Path, *, ignore: Sequence[str] = ()) -> Assignment:
        """What each of the columns `names` of a table holds, those to `ignore` aside."""
        own = [*(getattr(self, role) for role in ROLES), *(self.features or ())]
        for name in [*filter(None, own), *ignore]:
            if name not in names:
                remedy = did_you_mean(name, names) or f"It has {listed(names)}."
                raise DataError(where, f"has no column {name!r}. {remedy}")
            if name in ignore and name in own:
                raise ArgumentError("ignore", repr(name), "columns that `columns` does not name")
        rest = [name for name in names if name not in ignore and name not in (self.features or ())]
        meanings = {name: role for name in rest if (role := _role(name)) is not None}
        chosen = {role: getattr(self, role) or _first(role, meanings, names, where) for role in ROLES}
        if self.features is not None:
            return Assignment(chosen["query"], chosen["grade"], chosen["group"], self.features, {})
        left_out = dict.fromkeys(ignore, "ignored")
        left_out |= {name: reason for name in rest if (reason := other_meaning(name)) is not None}
        left_out |= {name: f"another {role}" for name, role in meanings.items()}
        for name in chosen.values():
            left_out.pop(name, None)
        features = tuple(name for name in rest if name not in left_out and name not in chosen.values())
        return Assignment(chosen["query"], chosen["grade"], chosen["group"], features, left_out)


@dataclass(frozen=True)
class Assignment:
    """What the columns of a table hold; `left_out` has those that are not read, each with the reason."""

    query: str
    grade: str
    group: str | None
    features: tuple[str, ...]
    left_out: Mapping[str, str]


def left_out_note(left_out: Mapping[str, str]) -> list[str]:
    """What was left out and why, in one sentence, if anything was."""
    if not left_out:
        return []
    told = ", ".join(f"{name!r} ({reason})" for name, reason in left_out.items())
    return [f"columns left out: {told}. To learn from one of them, name all features."]


def other_meaning(name: str) -> str | None:
    """What a column of this name holds instead of a feature, as far as its name tells.

    >>> [other_meaning(name) for name in ("Unnamed: 0", "clicks", "docIdx", "price")]
    ['an index', 'clicks', 'an id', None]
    """
    word = _word(name)
    return next((meaning for meaning, form in _OTHER_MEANINGS.items() if re.fullmatch(form, word)), None)


def is_label(name: str) -> bool:
    """Whether a column of this name holds grades."""
    return _role(name) == "grade"


def listed(names: Sequence[str], most: int = _MOST_LISTED) -> str:
    """Names by commas, the first few of many."""
    shown = ", ".join(map(str, names[:most]))
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown or "nothing"


def _first(role: str, meanings: Mapping[str, str], names: Sequence[str], where: str | Path) -> Any:
    """The column that holds the query, the grade or the group, by its name."""
    found = [name for name, meaning in meanings.items() if meaning == role]
    found.sort(key=lambda name: ROLES[role].index(_word(name)))
    if not found and role != "group":
        raise DataError(
            where,
            f"has no column for the {role}: expected one called {', '.join(ROLES[role])}, found {listed(names)}. "
            f"Rename it, or say which it is: --columns {role}=NAME.",
        )
    if role == "grade" and len(found) > 1:
        told = " and ".join(repr(name) for name in found)
        raise DataError(
            where,
            f"has {len(found)} columns that could be the grade: {told}. "
            f"Choose with --columns grade={found[0]}, or leave one out with --ignore {found[1]}.",
        )
    return found[0] if found else None


def _role(name: str) -> str | None:
    word = _word(name)
    return next((role for role, words in ROLES.items() if word in words), None)


def _word(name: str) -> str:
    """A name in small letters, its words apart: docId and doc_id are one."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
