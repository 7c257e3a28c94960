"""Reading LETOR text of MSLR's shape against scikit-learn's reader, and opening it again."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.harness import Bar, Outcome, Part, by_turns, compare, seconds, spread
from fairexp.lab.data import read_letor

N_FEATURES = 136
TIMED, WEIGHED = 210, 400
"""Megabytes of text: what a process needs besides the data (Python, numpy) must not be all that is weighed."""
PEAK = """
import sys
from pathlib import Path
from fairexp.lab.data import read_letor
data = read_letor(sys.argv[1])
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
print(int(status["VmHWM"].split()[0]) * 1024, data.features.nbytes)
"""
"""Not from getrusage: there, a new process starts at its parent's peak."""


def parts(quick: bool) -> Iterator[Part]:
    """The rows of one generated file."""
    yield partial(reading_rows, quick)


def reading_rows(quick: bool) -> Iterator[Outcome]:
    """Rows for the first reading (time and memory) and for the second."""
    with tempfile.TemporaryDirectory() as folder:
        text, cache = Path(folder, "mslr.txt"), Path(folder, "cache")
        megabytes = write_letor(text, megabytes=40 if quick else TIMED)
        before = os.environ.get("FAIREXP_CACHE")
        os.environ["FAIREXP_CACHE"] = str(cache)
        try:
            yield from _rows(text, cache, f"{megabytes:.0f} MB of LETOR text", turns=1 if quick else 2)
            shutil.rmtree(cache)
            write_letor(text, megabytes=60 if quick else WEIGHED)
            yield peak_row(text)
        finally:
            if before is None:
                del os.environ["FAIREXP_CACHE"]
            else:
                os.environ["FAIREXP_CACHE"] = before


def _rows(text: Path, cache: Path, name: str, *, turns: int) -> Iterator[Outcome]:
    from sklearn.datasets import load_svmlight_file

    def first() -> None:
        shutil.rmtree(cache, ignore_errors=True)
        read_letor(text)

    a, b = by_turns(first, lambda: load_svmlight_file(str(text), query_id=True), turns=turns, warm_up=False)
    yield compare(f"reading {name}, cache written", "scikit-learn", Bar(5.0, at_most=False), a, b)
    again = np.array([seconds(lambda: read_letor(text)) for _ in range(20)])
    once = np.resize(a, len(again))
    yield compare("second opening of the same data", "the first", Bar(50.0, at_most=False), again, once)


def peak_row(text: Path) -> Outcome:
    """Peak resident memory of a new process that reads the file, Python and all, over the size of the matrix."""
    peaks = []
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", PEAK, text], check=True, capture_output=True, text=True)
        peak, matrix = map(int, done.stdout.split())
        peaks.append(peak / matrix)
        shutil.rmtree(os.environ["FAIREXP_CACHE"], ignore_errors=True)
    return Outcome(
        what=f"peak memory of a process that reads {text.stat().st_size / 1e6:.0f} MB",
        against=f"the float32 matrix ({matrix / 1e6:.0f} MB)",
        bar=Bar(1.5),
        ratio=float(np.median(peaks)),
        low=min(peaks),
        high=max(peaks),
        samples={"what": spread(peaks)},
    )


def write_letor(path: Path, *, megabytes: float, n_features: int = N_FEATURES, seed: int = 0) -> float:
    """Write text of MSLR's shape: about 120 documents a query, counts and floats of up to six digits mixed.

    Some thousand documents are made and repeated in random order. Returns the size in megabytes.
    """
    rng = np.random.default_rng(seed)
    documents = [_document(rng, n_features) for _ in range(2000)]
    written, query = 0, 0
    with path.open("wb") as file:
        while written < megabytes * 1e6:
            query += 1
            grades = rng.choice(5, size=1 + rng.negative_binomial(5, 5 / 124), p=(0.52, 0.32, 0.13, 0.02, 0.01))
            chosen = rng.integers(len(documents), size=len(grades))
            lines = [b"%d qid:%d %s" % (g, query, documents[i]) for g, i in zip(grades, chosen, strict=True)]
            written += file.write(b"".join(lines))
    return written / 1e6


def _document(rng: np.random.Generator, n_features: int) -> bytes:
    """Half of the features are small counts, the rest floats with up to six digits after the point."""
    counts = rng.poisson(2.0, size=n_features) * rng.choice([1, 1, 1, 17, 901], size=n_features)
    floats = rng.lognormal(0.0, 2.0, size=n_features) * rng.choice([1, -1], p=(0.9, 0.1), size=n_features)
    whole = rng.random(n_features) < 0.5
    values = [f"{c}" if w else f"{f:.6f}".rstrip("0") for c, f, w in zip(counts, floats, whole, strict=True)]
    return (" ".join(f"{i}:{value}" for i, value in enumerate(values, start=1)) + "\n").encode()
