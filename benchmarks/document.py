"""Put the latest figures of each kind of processor into docs/performance.md: `python -m benchmarks.document`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.marks import between
from benchmarks.report import MACHINES, figure

PAGE = Path(__file__).parents[1] / "docs" / "performance.md"

Run = dict[str, Any]


def main() -> None:
    """Replace what stands between the marks by the table of the latest whole runs."""
    PAGE.write_text(with_figures(PAGE.read_text(encoding="utf-8"), kept()), encoding="utf-8")


def kept() -> list[Run]:
    """The latest whole run on each kind of processor, the newest first."""
    runs = [json.loads(path.read_text()) for path in MACHINES.glob("*.json")]
    return sorted(runs, key=lambda run: run["date"], reverse=True)


def with_figures(page: str, runs: Sequence[Run]) -> str:
    """The page with a table of the rows of `runs`: those of the first, then what only others have."""
    found = [{(row["what"], row["against"]): row for row in run["rows"]} for run in runs]
    names = dict.fromkeys(name for rows in found for name in rows)
    lines = [
        *(_where(run) for run in runs),
        "",
        "| what | against | bar |" + "".join(f" {run['cpu']}, {run['date'][:10]} |" for run in runs),
        "|---" * (3 + len(runs)) + "|",
        *(_line([rows.get(name) for rows in found]) for name in names),
    ]
    return between(page, "figures", lines)


def _where(run: Run) -> str:
    versions = ", ".join(f"{name} {number}" for name, number in run["versions"].items())
    where = f"- {run['date'][:10]} on {run['cores']} cores of {run['cpu']}"
    return f"{where} (load {run['load'][0]:.1f}), Python {run['python']}, {versions}."


def _line(rows: Sequence[dict[str, Any] | None]) -> str:
    """One row of the table: what the first run that has it says of it, then what each found."""
    first = next(row for row in rows if row is not None)
    what = f"{first['what']} ({first['note']})" if first["note"] else first["what"]
    return f"| {what} | {first['against']} | {first['bar']} | {' | '.join(_cell(row) for row in rows)} |"


def _cell(row: dict[str, Any] | None) -> str:
    """The ratio and its interval; what is no pass is said, and stands out if it is a miss.

    >>> _cell({"ratio": 2.1, "low": 1.9, "high": 2.3, "verdict": "noise"}), _cell(None)
    ('2.10x (1.90 – 2.30), noise', '')
    """
    if row is None:
        return ""
    told = f"{figure(row['ratio'])}x ({figure(row['low'])} – {figure(row['high'])})"
    return {"pass": told, "miss": f"**{told}, miss**"}.get(row["verdict"], f"{told}, {row['verdict']}")


if __name__ == "__main__":
    main()
