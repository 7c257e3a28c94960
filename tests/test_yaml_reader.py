from __future__ import annotations

from pathlib import Path

import pytest

from fairexp.errors import ArgumentError
from fairexp.yaml_reader import parse_mapping, read_mapping


def test_every_key_has_its_place() -> None:
    text = "a: 1\nb:\n  c: [x,\n      y]\n  d: {e: 2}\n"
    read = parse_mapping(text, "file", name="f", example="a: 1")
    assert read.values == {"a": 1, "b": {"c": ["x", "y"], "d": {"e": 2}}}
    lines = {".".join(keys): int(place.removeprefix("f, line ")) for keys, place in read.places.items()}
    assert lines == {"a": 1, "b": 2, "b.c": 3, "b.c.0": 3, "b.c.1": 4, "b.d": 5, "b.d.e": 5}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a: 1\nb: 2\na: 3\n", r"a \(f, line 1\): expected each key once, got it again on line 3"),
        ("a:\n  b: 1\n  b: 1\n", r"a\.b \(f, line 2\): expected each key once, got it again on line 3"),
        ("a: [", r"file: expected a YAML file, got f, which does not parse \(.*line 1"),
        ("- a", "file: expected a YAML file with lines such as 'a: 1', got f, which holds no keys"),
        ("", "holds no keys"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_line(text: str, told: str) -> None:
    with pytest.raises(ArgumentError, match=told):
        parse_mapping(text, "file", name="f", example="a: 1")


def test_an_alias_that_leads_back_to_itself_comes_to_an_end() -> None:
    assert ("a", "0") in parse_mapping("a: &x [*x]", "file", name="f", example="a: 1").places


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    path.write_bytes(b"a: \xff")
    with pytest.raises(ArgumentError, match=r"which does not parse \(.*0xff"):
        read_mapping(path, "file", example="a: 1")
