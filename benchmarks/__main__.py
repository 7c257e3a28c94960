"""Run the benchmarks, print the table, keep what a whole run found; exit with 1 where a bar is missed beyond noise."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from pathlib import Path

from rich.console import Console

from benchmarks.harness import Outcome, Part
from benchmarks.report import figure, place, table, write

TOPICS = (
    "rank",
    "update",
    "large",
    "rounds",
    "hosts",
    "simulation",
    "templates",
    "reading",
    "peers",
    "descent",
    "rivals",
    "metrics",
    "parallel",
    "driver",
    "startup",
    "build",
    "service",
    "hostile",
    "storage",
)


def main(arguments: list[str] | None = None) -> int:
    """Measure the chosen topics; a row that narrowly misses its bar is judged by a second measurement."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=TOPICS, metavar="NAME", help="measure these topics only")
    parser.add_argument("--quick", action="store_true", help="fewer samples and smaller shapes: a look, no judgement")
    parser.add_argument("--list", action="store_true", help="say which topics there are")
    parser.add_argument(
        "--out", type=Path, help="where the results go (default, after a whole run: benchmarks/machines)"
    )
    chosen = parser.parse_args(arguments)
    console = Console()
    if chosen.list:
        for name in TOPICS:
            console.print(f"{name:10} {(import_module(f'benchmarks.{name}').__doc__ or '').splitlines()[0]}")
        return 0
    outcomes: list[Outcome] = []
    broken: list[str] = []
    for name in chosen.only or TOPICS:
        try:
            outcomes += judged(name, quick=chosen.quick, console=console)
        except Exception:
            console.print_exception()
            broken.append(name)
    console.print(table(outcomes))
    if broken:
        console.print(f"broken: {', '.join(broken)}; what was measured is only written to a file that --out names")
    out = chosen.out or (None if chosen.only or chosen.quick or broken else place())
    if out is not None:
        write(outcomes, out, quick=chosen.quick)
        console.print(f"written to {out}")
    return 1 if broken or (not chosen.quick and any(row.verdict == "miss" for row in outcomes)) else 0


def judged(name: str, *, quick: bool, console: Console) -> list[Outcome]:
    """The rows of a topic. Other processes can slow one side for a while: a near miss must be seen twice to count."""
    rows: list[Outcome] = []
    for part in import_module(f"benchmarks.{name}").parts(quick):
        found = measured(name, part, console)
        if any(row.is_near_miss for row in found):
            console.print(f"[dim]{name:10} measured again, to tell a miss from a disturbance[/dim]")
            found = [
                again if row.is_near_miss else row
                for row, again in zip(found, measured(name, part, console), strict=True)
            ]
        rows += found
    return rows


def measured(name: str, part: Part, console: Console) -> list[Outcome]:
    """The rows of one part, each told as soon as it is known."""
    rows: list[Outcome] = []
    with console.status(f"{name} ..."):
        for row in part():
            rows.append(row)
            console.print(f"[dim]{name:10} {row.what}: {figure(row.ratio)}x, {row.bar}, {row.verdict}[/dim]")
    return rows


if __name__ == "__main__":
    sys.exit(main())
