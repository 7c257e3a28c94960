"""The README's code does what it says."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_the_five_lines_run():
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    assert blocks
    for block in blocks:
        names: dict[str, object] = {}
        exec(compile(block, "README.md", "exec"), names)
        ranking, ranker = names["ranking"], names["ranker"]
        assert len(ranking.shown) == len(ranking.template) == 10
        assert ranking.qualified
        assert ranking.added_regret == 0
        assert abs(ranker.ledger.unfairness) <= 0.1 + 1e-9


def test_the_page_on_constraints_runs():
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "fairness.md").read_text(), flags=re.DOTALL):
        exec(compile(block, "fairness.md", "exec"), names)
    assert names["ranking"]


def test_the_page_on_the_paper_runs():
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "paper.md").read_text(), flags=re.DOTALL):
        exec(compile(block, "paper.md", "exec"), names)
    assert names["best"]


def test_links_lead_somewhere():
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text()):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name} links to {target}"
