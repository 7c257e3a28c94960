"""Bytes on disk per ranking, against the features that were shown as plain float32; the time that packing takes."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.harness import Bar, Outcome, Part, by_turns, compare
from fairexp.lab.data.synthetic import world
from fairexp.service.changes import Changes
from fairexp.service.engine.candidates import Candidates
from fairexp.service.engine.engine import Engine
from fairexp.service.log.considered import Floats32
from fairexp.service.policies.spec import PolicySpec
from fairexp.service.settings import ServerSettings
from fairexp.service.store import codec as packing
from fairexp.service.store import open_store

N, D, LENGTH = 100, 136, 10
RAW_BYTES = LENGTH * D * 4
Features = Callable[[np.random.Generator], Floats32]


def parts(quick: bool) -> Iterator[Part]:
    """A row for each kind of features, and one for the time."""
    rounds = 300 if quick else 3000
    yield partial(size_row, "counts and decimals of two digits", counted, Bar(0.5), rounds=rounds)
    yield partial(size_row, "an embedded world's features", embedded(), Bar(1.0), rounds=rounds)
    yield partial(size_row, "random numbers, which no packing makes smaller", uniform, Bar(1.2), rounds=rounds)
    yield partial(time_row, turns=15 if quick else 60)


def counted(rng: np.random.Generator) -> Floats32:
    """Half of the features are counts, half are numbers with two digits after the point."""
    counts, decimals = rng.poisson(2.0, (N, D // 2)), np.round(rng.random((N, D - D // 2)) ** 3, 2)
    return np.hstack([counts, decimals]).astype(np.float32)


def uniform(rng: np.random.Generator) -> Floats32:
    """Random bits in nearly every byte."""
    return rng.random((N, D)).astype(np.float32)


def embedded() -> Features:
    """The features of a query of the world that `fairexp serve --demo` serves."""
    data = world("mslr-pagerank", n_queries=60)
    return lambda rng: data.query(int(rng.integers(data.n_queries))).features.astype(np.float32)


def size_row(what: str, features: Features, bar: Bar, *, rounds: int) -> Iterator[Outcome]:
    """The size of an SQLite store by the number of its rankings, without snapshots, which do not grow with it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        engine = opened(path)
        before = engine.store.size()
        rank = ranking(engine, features)
        for _ in range(rounds):
            rank()
        engine.writer.submit([]).result()
        engine.store.database.scrub()  # type: ignore[attr-defined]
        ratio = (engine.store.size() - before) / rounds / RAW_BYTES
        engine.close()
    name = f"bytes per ranking, d={D}, k={LENGTH}: {what}"
    yield Outcome(name, f"{RAW_BYTES} bytes of features", bar, ratio, ratio, ratio)


def time_row(*, turns: int) -> Iterator[Outcome]:
    """A durable ranking whose record is packed, against one whose record is not compressed."""
    level = packing.LEVEL
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        engine = opened(Path(folder) / "store.db")
        rank = ranking(engine, embedded())

        def at(chosen: int) -> None:
            packing.LEVEL = chosen
            rank()

        try:
            a, b = by_turns(lambda: at(level), lambda: at(0), turns=turns, times=(20, 20))
        finally:
            packing.LEVEL = level
            engine.close()
    yield compare("rank and keep, compressed", "rank and keep, not compressed", Bar(1.3), a, b)


def opened(path: Path) -> Engine:
    """An engine with a policy, which takes no snapshots."""
    engine = Engine(open_store(path), ServerSettings().changed({"snapshot_every": 10**9}))
    engine.start()
    groups = {"popular": 1.0, "niche": 1.0}
    Changes(engine).put("bench", PolicySpec(features=D, groups=groups, length=LENGTH, tolerance=0.1, seed=7))
    return engine


def ranking(engine: Engine, features: Features) -> Callable[[], None]:
    """A call that ranks new candidates and waits until that is on disk."""
    rng = np.random.default_rng(0)

    def rank() -> None:
        given = features(rng)
        ids = [f"item-{number}" for number in rng.integers(0, 10**6, len(given)).tolist()]
        asked = Candidates(ids, np.arange(len(given)) % 2, given, None, {"query_id": f"query-{rng.integers(10**4)}"})
        engine.rank("bench", lambda runtime: asked).kept.result()

    return rank
