"""The code of docs/users-and-metrics.md about runs does what the page says."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[3] / "docs" / "users-and-metrics.md"


def test_the_page_on_runs_runs() -> None:
    text = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text[text.index("## Simulate a run") :], flags=re.DOTALL)
    assert len(blocks) == 2
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, PAGE.name, "exec"), names)
    assert names["baseline"] and names["result"]
