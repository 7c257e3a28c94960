from __future__ import annotations

from pathlib import Path

from fairexp.cli.entry import COMMANDS
from fairexp.cli.reference import reference

PAGE = Path(__file__).resolve().parents[2] / "docs" / "cli.md"


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == reference(), "run: python -m fairexp.cli.reference > docs/cli.md"


def test_every_command_has_its_section() -> None:
    headings = {line for line in reference().splitlines() if line.startswith("## ")}
    assert {f"## fairexp {name}" for name in COMMANDS} <= headings
    assert "## fairexp data describe" in headings
