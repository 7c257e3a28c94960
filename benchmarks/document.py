"""Put the latest figures into docs/performance.md: `python -m benchmarks.document`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.__main__ import LATEST
from benchmarks.marks import between
from benchmarks.report import figure

PAGE = Path(__file__).parents[1] / "docs" / "performance.md"


def main() -> None:
    """Replace what stands between the marks by the table of the latest whole run."""
    PAGE.write_text(with_figures(PAGE.read_text(encoding="utf-8"), json.loads(LATEST.read_text())), encoding="utf-8")


def with_figures(page: str, latest: dict[str, Any]) -> str:
    """The page with a table of the rows of `latest`."""
    versions = ", ".join(f"{name} {number}" for name, number in latest["versions"].items())
    where = f"Measured on {latest['date'][:10]} on {latest['cores']} cores of {latest['cpu']}"
    lines = [
        f"{where} (load {latest['load'][0]:.1f}), Python {latest['python']}, {versions}.",
        "",
        "| what | against | ratio | 99% interval | bar | verdict |",
        "|---|---|---|---|---|---|",
        *map(_line, latest["rows"]),
    ]
    return between(page, "figures", lines)


def _line(row: dict[str, Any]) -> str:
    what = f"{row['what']} ({row['note']})" if row["note"] else row["what"]
    between = f"{figure(row['low'])} – {figure(row['high'])}"
    return f"| {what} | {row['against']} | {figure(row['ratio'])}x | {between} | {row['bar']} | {row['verdict']} |"


if __name__ == "__main__":
    main()
