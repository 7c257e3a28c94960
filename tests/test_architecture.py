"""docs/architecture.md is drawn from the code: its pictures, and the walks of a query through it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture import PICTURES, ROOT, Footsteps, modules, picture
from tests.walks import over_http, through_simulate, through_the_library

PAGE = ROOT / "docs" / "architecture.md"


@pytest.fixture
def footsteps() -> Iterator[Footsteps]:
    steps = Footsteps()
    yield steps
    steps.end()


def documented_walk(title: str) -> list[str]:
    """The modules that the page names under a title, in the order of the alphabet."""
    section = PAGE.read_text(encoding="utf-8").split(f"### {title}\n")[1].split("\n#")[0]
    named = re.findall(r"`([a-z_.]+)`", section)
    return sorted(name for name in named if name in modules())


@pytest.mark.parametrize("folder", PICTURES)
def test_the_pictures_are_those_of_the_code(folder: str) -> None:
    assert picture(folder) in PAGE.read_text(encoding="utf-8"), (
        "docs/architecture.md shows other arrows than the code has: `python -m tests.architecture` draws them anew"
    )


def test_a_query_through_the_library(footsteps: Footsteps) -> None:
    assert sorted(through_the_library(footsteps)) == documented_walk("Through the library")


def test_a_query_through_simulate(footsteps: Footsteps, tmp_path: Path) -> None:
    assert sorted(through_simulate(footsteps, tmp_path)) == documented_walk("Through `fairexp simulate`")


def test_a_query_over_http(footsteps: Footsteps, tmp_path: Path) -> None:
    assert sorted(over_http(footsteps, tmp_path)) == documented_walk("Over HTTP")
