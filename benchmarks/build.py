"""Compiling all kernels from nothing on two cores, against 90 seconds.

An absolute bar, so it depends on the machine. Where others take part of it, the interval reaches down to half of the
processor time, which is what two free cores would have needed at least.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.harness import Bar, Outcome, Part, spread

ROOT = Path(__file__).resolve().parent.parent
ALLOWED_SECONDS = 90.0
CORES = 2


def parts(quick: bool) -> Iterator[Part]:
    """The row for a wheel, built in a folder of its own with the tools of this environment."""
    yield partial(wheel_row, turns=1 if quick else 3)


def wheel_row(*, turns: int) -> Iterator[Outcome]:
    """Translating every kernel to C and compiling it for every level of instructions."""
    whole, used = np.array([build() for _ in range(turns)]).T
    yield Outcome(
        what="building the wheel from nothing on 2 cores",
        against=f"{ALLOWED_SECONDS:g} seconds",
        bar=Bar(1.0),
        ratio=float(np.median(whole)) / ALLOWED_SECONDS,
        low=float(np.minimum(whole, used / CORES).min()) / ALLOWED_SECONDS,
        high=float(whole.max()) / ALLOWED_SECONDS,
        samples={"what": spread(whole), "processor": spread(used)},
        note=f"{np.median(whole):.0f} s, {np.median(used):.0f} s of processor time",
    )


def build() -> tuple[float, float]:
    """How many seconds a build takes, and how much processor time."""
    with TemporaryDirectory() as folder:
        words = ["-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-build-isolation"]
        places = ["--wheel-dir", folder, f"--config-settings=build-dir={folder}/build", str(ROOT)]
        settings = [f"--config-settings=compile-args=-j{CORES}"]
        started, before = time.perf_counter(), processor_seconds()
        subprocess.run([sys.executable, *words, *settings, *places], check=True, stderr=subprocess.DEVNULL)
        return time.perf_counter() - started, processor_seconds() - before


def processor_seconds() -> float:
    """What processes that this one started, and theirs, have used by their end."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
