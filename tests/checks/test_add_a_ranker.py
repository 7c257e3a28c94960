"""The guide to adding a ranker: its code runs as it stands, in order."""

from __future__ import annotations

import re
from pathlib import Path

from fairexp.ranker import Ranker

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "add-a-ranker.md"


def test_the_code_of_the_guide_runs():
    blocks = re.findall(r"^```python\n(.*?)^```$", GUIDE.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    assert len(blocks) == 3
    names: dict[str, object] = {"__name__": "epsilon_greedy"}
    for block in blocks:
        exec(compile(block, str(GUIDE), "exec", flags=0, dont_inherit=True), names)
    assert issubclass(names["EpsilonGreedy"], Ranker)
    assert names["better"] > names["worse"]


def test_the_guide_names_every_hook():
    text = GUIDE.read_text(encoding="utf-8")
    hooks = [
        name for name in ("_rank", "_update", "_score", "_state", "_restore", "_take_over") if name in vars(Ranker)
    ]
    assert len(hooks) == 6
    assert all(f"`{hook}(" in text for hook in hooks)
