"""docs/architecture.md shows the code as it is: its layers, its tree, and the places that it names."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "src" / "fairexp"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def folders_and_modules() -> set[str]:
    """What the tree must list: modules at the top, and packages down to the second level."""
    packages = {str(path.parent.relative_to(SOURCES)) for path in SOURCES.glob("*/*/__init__.py")}
    packages |= {path.parent.name for path in SOURCES.glob("*/__init__.py")}
    modules = {path.name for path in SOURCES.glob("*.py") if not path.name.startswith("__")}
    return modules | {package for package in packages if not package.startswith(("kernels/", "cli/"))}


def test_the_layers_are_those_that_are_checked() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    checked = [sorted(name.strip().removeprefix("fairexp.") for name in layer.split(":")) for layer in layers]
    figure = PAGE.split("```\n")[1].splitlines()
    assert [sorted(line.split()) for line in figure] == checked


def test_the_tree_lists_every_folder_and_module() -> None:
    tree = PAGE.split("## Tree\n")[1].split("\n## ")[0]
    assert set(re.findall(r"^\| `([^`]+)` \|", tree, flags=re.MULTILINE)) == folders_and_modules()


def test_every_place_that_a_task_names_exists() -> None:
    table = PAGE.split("## Where would I ...\n")[1]
    places = re.findall(r"`([a-z_/]+(?:\.py|/))`", table)
    assert len(places) > 10
    missing = [place for place in places if not list(SOURCES.rglob(place.rstrip("/")))]
    assert missing == []
