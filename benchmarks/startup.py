"""Time from a new process to the first result, against importing numpy or numba."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.harness import Action, Bar, Outcome, Part, by_turns, compare

FIRST_RANK = """
import numpy as np
from fairexp import FairExp, PairRank, Query
ranker = FairExp(PairRank(n_features=136, length=10), tolerance=0.1, beta=1.0, seed=7)
ranker.rank(Query(features=np.random.default_rng(0).random((125, 136)), groups=np.arange(125) % 2))
"""

LEAST = """
from numba import njit

@njit(cache=True)
def add_one(x):
    return x + 1
"""
"""The smallest compiled function there is."""

DONE = "\nimport os; os._exit(0)"
"""What a process does once it has its result: how long it takes to fall apart is nobody's wait."""


def parts(quick: bool) -> Iterator[Part]:
    """Rows for the import, the help text, and the first ranking with compiled code in the cache."""
    turns = 5 if quick else 15
    yield partial(light_row, "import fairexp", process("-c", "import fairexp"), 3.0, turns=turns)
    yield partial(light_row, "fairexp --help", command("--help"), 6.0, turns=turns)
    yield partial(first_rank_row, turns=turns)


def light_row(what: str, action: Action, limit: float, *, turns: int) -> Iterator[Outcome]:
    """Something that should cost little more than numpy does."""
    a, b = by_turns(action, process("-c", "import numpy"), turns=turns)
    yield compare(what, "import numpy, new process", Bar(limit), a, b)


def first_rank_row(*, turns: int) -> Iterator[Outcome]:
    """The first ranking; what numba itself takes to make its first call goes with it, as a note."""
    numba = process("-c", "import numba" + DONE)
    a, b = by_turns(process("-c", FIRST_RANK + DONE), numba, turns=turns)
    note = f"numba's own first call of a function in its cache takes {least_compiled(numba, turns=turns):.2f}x"
    yield compare("first rank in a new process", "import numba, new process", Bar(1.5), a, b, note=note)


def least_compiled(numba: Action, *, turns: int) -> float:
    """How many times as long as importing numba it takes to import and call one cached compiled function."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "least.py").write_text(LEAST)
        code = f"import sys; sys.path.insert(0, {folder!r}); import least; least.add_one(1)"
        a, b = by_turns(process("-c", code + DONE), numba, turns=turns)
    return float(np.median(a) / np.median(b))


def process(*arguments: str) -> Action:
    """A run of Python with these arguments, whose output is discarded."""
    return run(sys.executable, *arguments)


def command(*arguments: str) -> Action:
    """A run of the `fairexp` command that is installed beside this Python."""
    return run(str(Path(sys.executable).parent / "fairexp"), *arguments)


def run(*words: str) -> Action:
    """A run of a program that keeps Python's bytecode, as an installed package has it, whatever is usual here."""
    environment = {**os.environ, "COLUMNS": "100"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return lambda: subprocess.run(words, check=True, stdout=subprocess.DEVNULL, env=environment)
