"""The bars of a prior, on short runs: as good as the prior from the first round, and not surely worse in the end."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import pytest

from benchmarks.start import Start, compare_starts
from fairexp.lab.data import Dataset, open_data, read_letor

SHARED = Path(os.environ.get("FAIREXP_SHARED_DATA", Path(__file__).resolve().parents[2].parent / "shared" / "data"))
needs_mq2008 = pytest.mark.skipif(not (SHARED / "MQ2008").is_dir(), reason="MQ2008 is not here")


WORLDS = ["mslr-pagerank", "mslr-inlink"]


@cache
def started(world: str) -> Start:
    train = open_data(world, n_queries=100)
    test = open_data(world, n_queries=60, part="test").without_irrelevant()
    return compare_starts(train, test, "perfect", n_grades=5, rounds=200, seeds=30)


@pytest.mark.parametrize("world", WORLDS)
def test_worlds_start_as_good_as_the_prior(world: str) -> None:
    found = started(world)
    assert found.starts_well and found.with_prior.mean > found.without.mean + 0.05


@pytest.mark.parametrize("world", WORLDS)
def test_worlds_do_not_surely_end_worse_with_the_prior(world: str) -> None:
    """Thirty seeds tell .017 from nothing: so far behind is a prior whose weights stay as large as grades make them."""
    assert started(world).ends_well


@pytest.mark.shared_data
@needs_mq2008
@pytest.mark.parametrize("user", ["perfect", "navigational"])
def test_mq2008_starts_as_good_as_the_prior(user: str) -> None:
    """Of the first rounds alone; what becomes of it takes more seeds to tell than a test has: `benchmarks.start`."""
    train, test = (_part(name) for name in ("S1", "S5"))
    found = compare_starts(train, test.without_irrelevant(), user, n_grades=3, rounds=100, seeds=5)
    assert found.starts_well and found.with_prior.mean > found.without.mean


def _part(name: str) -> Dataset:
    return read_letor(SHARED / "MQ2008" / f"{name}.txt", n_features=46, cache=False)
