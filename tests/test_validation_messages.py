"""Mistakes in data from outside, told the same whoever found them."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
import pytest
from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, ValidationError, field_validator, model_validator

from fairexp.validation_messages import Mistake, found_by_msgspec, found_by_pydantic


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Part(Strict):
    size: Annotated[int, Field(ge=1)] = 1

    @field_validator("size")
    @classmethod
    def _odd(cls, value: int) -> int:
        if value % 2 == 0:
            raise ValueError(f"expected an odd number, got {value}")
        return value


class Whole(Strict):
    parts: dict[str, Part] = {}
    listed: list[Part] = []
    either: Annotated[
        Annotated[Part, Tag("~part")] | Annotated[int, Tag("~count")],
        Discriminator(lambda value: "~part" if isinstance(value, dict) else "~count"),
    ] = 1
    needed: int

    @model_validator(mode="after")
    def _consistent(self) -> Whole:
        if self.needed == 13:
            raise ValueError("parts.lucky: expected something, got 13")
        return self


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "needed: expected a value, which is required, got nothing"),
        ({"needed": "x" * 500}, "needed: expected a valid integer, unable to parse string as an integer, got 'xxx"),
        ({"needed": 1, "parts": {"a": {"size": 0}}}, "parts.a.size: expected greater than or equal to 1, got 0"),
        ({"needed": 1, "parts": {"a": {"size": 2}}}, "parts.a.size: expected an odd number, got 2"),
        ({"needed": 1, "listed": [{}, {"size": 0}]}, "listed[1].size: expected greater than or equal to 1, got 0"),
        ({"needed": 1, "either": {"size": 0}}, "either.size: expected greater than or equal to 1, got 0"),
        ({"needed": 13}, "parts.lucky: expected something, got 13"),
        (
            {"neded": 1},
            "neded: expected one of either, listed, needed, parts, got a key that is not known here. "
            "Did you mean 'needed'?",
        ),
        (
            {"needed": 1, "parts": {"size": {"sice": 1}}},
            "parts.size.sice: expected one of size, got a key that is not known here. Did you mean 'size'?",
        ),
        (
            {"needed": 1, "either": {"colour": 1}},
            "either.colour: expected one of size, got a key that is not known here. Remove it.",
        ),
    ],
)
def test_what_pydantic_finds(given: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Whole.model_validate(given)
    found = str(found_by_pydantic(caught.value.errors(), Whole))
    assert found.startswith(told) and len(found) < 300
    if "xxx" not in told:
        assert found == told


class Form(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    count: Annotated[int, msgspec.Meta(ge=1)] = 1
    inner: list[Form] = []


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"{}", "name: expected a value, got nothing"),
        (b'{"name": 1}', "name: expected str, got int"),
        (b'{"name": "a", "count": 0}', "count: expected int >= 1"),
        (b'{"name": "a", "inner": [{"name": "b"}, {}]}', "inner[1].name: expected a value, got nothing"),
        (b'{"name": "a", "other": 1}', "other: expected documented fields only, got a key that is not known here"),
        (b"[]", "expected an object, got array"),
    ],
)
def test_what_msgspec_finds(body: bytes, told: str) -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.json.decode(body, type=Form)
    assert str(found_by_msgspec(str(caught.value))) == told


def test_a_mistake_is_told_at_the_innermost_key_that_stands_in_the_file() -> None:
    places = {("a",): "own.yaml, line 1", ("a", "b"): "own.yaml, line 2"}
    wrong = Mistake(("a", "b", "branch-of-a-union"), "1", "2")
    assert str(wrong.at(places)) == "a.b (own.yaml, line 2): expected 2, got 1"
    missing = Mistake(("a", "c"), "nothing", "a value")
    assert str(missing.at(places)) == "a.c (own.yaml, line 1): expected a value, got nothing"
    assert str(wrong.at({})) == "a.b.branch-of-a-union: expected 2, got 1"
