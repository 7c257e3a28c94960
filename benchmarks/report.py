"""The table in the terminal, and the record of a run: of whole ones the latest on each kind of processor is kept."""

from __future__ import annotations

import json
import os
import platform
import re
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.table import Table

from benchmarks.harness import Outcome

MACHINES = Path(__file__).parent / "machines"
PACKAGES = ("fairexp", "numpy", "scipy", "scikit-learn", "pyarrow")
STYLES = {"pass": "green", "noise": "yellow", "miss": "bold red"}


def table(outcomes: list[Outcome]) -> Table:
    """One line per row, the verdict last."""
    made = Table(title="Ratios on one core, each measured against its floor or peer by turns")
    for heading, side in (("what", "left"), ("against", "left"), ("ratio", "right"), ("99% interval", "right")):
        made.add_column(heading, justify=side)
    made.add_column("bar", no_wrap=True)
    made.add_column("verdict")
    for row in outcomes:
        what = f"{row.what}\n[dim]{row.note}[/dim]" if row.note else row.what
        verdict = f"[{STYLES[row.verdict]}]{row.verdict}[/]"
        between = f"{figure(row.low)} – {figure(row.high)}"
        made.add_row(what, row.against, f"{figure(row.ratio)}x", between, str(row.bar), verdict)
    return made


def figure(value: float) -> str:
    """Three significant digits, without an exponent.

    >>> figure(0.04567), figure(12.345), figure(1234.5)
    ('0.0457', '12.3', '1,234')
    """
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 3 if value >= 0.1 else 4
    return f"{value:,.{digits}f}"


def place(cpu: str | None = None) -> Path:
    """Where the latest whole run on this processor is kept, or on another.

    >>> place("AMD EPYC").name, place("Intel(R) Xeon(R) CPU @ 2.50GHz").name
    ('amd-epyc.json', 'intel-r-xeon-r-cpu-2-50ghz.json')
    """
    words = re.findall("[a-z0-9]+", (_cpu() if cpu is None else cpu).lower())
    return MACHINES / f"{'-'.join(words) or 'unknown'}.json"


def write(outcomes: list[Outcome], path: Path, *, quick: bool) -> None:
    """Everything about the run as JSON."""
    path.write_text(json.dumps({**surroundings(quick), "rows": [row.record() for row in outcomes]}, indent=1) + "\n")


def surroundings(quick: bool) -> dict[str, Any]:
    """When and on what the run took place."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "quick": quick,
        "python": platform.python_version(),
        "versions": {name: version(name) for name in PACKAGES},
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "load": list(os.getloadavg()),
        "threads_per_process": 1,
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")
