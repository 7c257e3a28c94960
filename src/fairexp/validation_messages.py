"""What pydantic and msgspec find wrong with data that came from outside, in our words.

Neither is imported here: the process that reads large bodies needs this too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from reprlib import Repr
from typing import TYPE_CHECKING, Any, get_args, get_origin

from fairexp.errors import ArgumentError, did_you_mean

if TYPE_CHECKING:
    from pydantic import BaseModel

BRANCH = "~"
"""How the names of a union's branches begin: they appear in pydantic's paths, and are no fields of what was given."""

NOTHING = "nothing"
UNKNOWN = "a key that is not known here"
MOST_TOLD = 200
_SHORT = Repr()
_SHORT.maxstring = _SHORT.maxother = 78
_NAMED = re.compile(r"Object (contains unknown|missing required) field `(.*?)`?", re.DOTALL)
_EXPECTED = re.compile(r"Expected (.*?)(?:, got (.*))?", re.DOTALL)


@dataclass(frozen=True)
class Mistake:
    """One thing wrong: the `path` to it, what was `given` (None: not known), what was `expected`, and what to do.

    >>> str(Mistake(("candidates", 3, "id"), "nothing", "a value, which is required"))
    'candidates[3].id: expected a value, which is required, got nothing'
    """

    path: tuple[str | int, ...]
    given: str | None
    expected: str
    remedy: str = ""

    @property
    def field(self) -> str:
        """The path in one word; empty where the whole is wrong."""
        told = ""
        for part in self.path:
            told += f"[{part}]" if isinstance(part, int) else f".{part}" if told else part
        return told

    def __str__(self) -> str:
        told = f"expected {self.expected}" + ("" if self.given is None else f", got {self.given}")
        message = f"{self.field}: {told}" if self.path else told
        return f"{message}. {self.remedy}" if self.remedy else message

    def at(self, places: Mapping[tuple[str, ...], str]) -> ArgumentError:
        """The same about the innermost key that has a place; of what is missing, the whole path is told."""
        path = tuple(map(str, self.path))
        known = next((path[:n] for n in range(len(path), 0, -1) if path[:n] in places), ())
        where = f" ({places[known]})" if known else ""
        cut = replace(self, path=self.path[: len(known)]) if known and self.given != NOTHING else self
        return ArgumentError(f"{cut.field}{where}", self.given, self.expected, self.remedy)


def found_by_pydantic(
    errors: Sequence[Mapping[str, Any]], model: type[BaseModel] | None = None, *, also: Sequence[str] = ()
) -> Mistake:
    """The first of pydantic's (or FastAPI's) errors, keys that nobody knows before what follows from them.

    With `model`, an unknown key is told with those that there are (at the top `also` these), and the one that was
    probably meant.
    """
    first = min(errors, key=lambda one: one["type"] != "extra_forbidden")
    path = tuple(part for part in first["loc"] if not str(part).startswith(BRANCH))
    kind, given = first["type"], _SHORT.repr(first.get("input"))
    if kind == "extra_forbidden":
        return _unknown(path, [*_fields(_at(model, path[:-1])), *(also if len(path) == 1 else ())])
    if kind == "missing":
        return Mistake(path, NOTHING, "a value, which is required")
    if kind == "value_error":
        return _own(path, given, str(first["ctx"]["error"]))
    expected = str(first["msg"]).removeprefix("Input should be ")
    return Mistake(path, given, f"{expected[:1].lower()}{expected[1:MOST_TOLD]}")


def found_by_msgspec(message: str, outer: str = "") -> Mistake:
    """What a message of msgspec's says; `outer` begins the field's path.

    >>> str(found_by_msgspec("Expected `int`, got `str` - at `$.events[0].position`"))
    'events[0].position: expected int, got str'
    """
    problem, _, path = message.rpartition(" - at `$")
    if not problem:
        problem, path = message, ""
    place = f"{outer}{path.removesuffix('`').removeprefix('.')}".rstrip(".")
    named = _NAMED.fullmatch(problem)
    if named:
        place = f"{place}.{named[2][:80]}" if place else named[2][:80]
        missing = named[1].startswith("missing")
        return Mistake((place,), NOTHING if missing else UNKNOWN, "a value" if missing else "documented fields only")
    told = _EXPECTED.fullmatch(problem.replace("`", "").replace("object", "an object", 1))
    path_ = (place,) if place else ()
    if told is None:
        return Mistake(path_, problem[:MOST_TOLD], "what is documented")
    return Mistake(path_, told[2] and told[2][:MOST_TOLD], told[1][:MOST_TOLD])


def _own(path: tuple[str | int, ...], given: str, message: str) -> Mistake:
    """What one of our validators said: `expected ..., got ...`, after the field where pydantic does not know it."""
    if not path or ": expected " in message:
        field, _, message = message.partition(": ")
        path = (*path, *field.split("."))
    expected, _, told = message.removeprefix("expected ").rpartition(", got ")
    return Mistake(path, told, expected) if expected else Mistake(path, given, told)


def _unknown(path: tuple[str | int, ...], choices: Sequence[str]) -> Mistake:
    if not choices:
        return Mistake(path, UNKNOWN, "documented fields only")
    remedy = did_you_mean(str(path[-1]), choices) or "Remove it."
    return Mistake(path, UNKNOWN, f"one of {', '.join(choices)}", remedy)


def _at(kind: Any, path: Sequence[str | int]) -> Any:
    """The type that is declared for what `path` leads to within a value of type `kind`; None if there is none."""
    if not path or kind is None:
        return kind
    if hasattr(kind, "model_fields"):
        field = kind.model_fields.get(path[0])
        return None if field is None else _at(field.annotation, path[1:])
    if get_origin(kind) in (dict, list):
        return _at(get_args(kind)[-1], path[1:])
    return next((found for each in get_args(kind) if (found := _at(each, path)) is not None), None)


def _fields(kind: Any) -> list[str]:
    """The names of a model's fields, or of the first model among alternatives."""
    if hasattr(kind, "model_fields"):
        return sorted(kind.model_fields)
    return next((found for each in get_args(kind) if (found := _fields(each))), [])
