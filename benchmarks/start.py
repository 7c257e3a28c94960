"""The first rounds with a prior and without: `python -m benchmarks.start`, on synthetic worlds and on MQ2008.

A prior is learned from the grades of a tenth of the queries; the others are served. Bars: NDCG of the first hundred
rounds is at least that of the prior alone, which never learns, less its interval; and after the last round held-out
NDCG is no lower than without a prior, by the interval of the difference. MQ2008 is measured where `--folder` holds it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from fairexp import PairRank
from fairexp.lab.data import Dataset, open_data
from fairexp.lab.logs.files import log_of_grades
from fairexp.lab.logs.learned import learn
from fairexp.lab.simulation.loop import play
from fairexp.lab.simulation.meter import Meter
from fairexp.lab.users import load_user
from fairexp.measures import NDCG
from fairexp.ranker import Ranker
from fairexp.rankers import FixedScores
from fairexp.statistics import Effect, effect

FIRST = 100
LENGTH = 10
WORLDS = ("mslr-pagerank", "mslr-inlink", "yahoo-9", "yahoo-471")
USERS = ("perfect", "navigational", "informational")


@dataclass(frozen=True, slots=True)
class Start:
    """Means over seeds: NDCG of the first rounds of the prior alone, of the ranker with it and of one without, and
    held-out NDCG in the end with and without; `gained` is the difference of the last two."""

    alone: Effect
    with_prior: Effect
    without: Effect
    final: Effect
    final_without: Effect
    gained: Effect

    @property
    def starts_well(self) -> bool:
        """Whether the first rounds are as good as the prior, less its interval."""
        return self.with_prior.mean >= self.alone.mean - (self.alone.half_width or 0.0)

    @property
    def ends_well(self) -> bool:
        """Whether nothing says that the end is worse than without."""
        return self.gained.high is not None and self.gained.high >= 0.0


def compare_starts(train: Dataset, test: Dataset, user: str, *, n_grades: int, rounds: int, seeds: int) -> Start:
    """Serve nine tenths of the queries of `train` with each ranker, `seeds` times; the tenth is another each time."""
    rows = [_one(train, test, user, n_grades, rounds, seed) for seed in range(seeds)]
    alone, first, first_without, final, final_without = (list(column) for column in zip(*rows, strict=True))
    gained = [a - b for a, b in zip(final, final_without, strict=True)]
    return Start(*(effect(values) for values in (alone, first, first_without, final, final_without, gained)))


def _one(
    train: Dataset, test: Dataset, user: str, n_grades: int, rounds: int, seed: int
) -> tuple[float, float, float, float, float]:
    shuffled = np.random.default_rng(seed).permutation(train.n_queries)
    tenth, rest = (train.subset(np.sort(part)) for part in np.split(shuffled, [max(train.n_queries // 10, 1)]))
    prior = learn(log_of_grades(tenth), None).prior
    rankers: list[Ranker] = [
        FixedScores(prior.weights, length=LENGTH, seed=seed),
        PairRank(train.n_features, length=LENGTH, prior=prior, seed=seed),
        PairRank(train.n_features, length=LENGTH, seed=seed),
    ]
    first = []
    for ranker in rankers:
        meter = Meter(exposure=1.0 / np.arange(1, LENGTH + 1), shares=None, k=LENGTH)
        reader = load_user(user, n_grades=n_grades, seed=seed)
        n_rounds = FIRST if ranker is rankers[0] else rounds
        played = play(ranker, rest, reader, rounds=n_rounds, rng=np.random.default_rng(seed))
        quality = [meter.row(each)[(NDCG @ LENGTH).name] for each in played]
        first.append(float(np.nanmean(np.array(quality[:FIRST], dtype=np.float64))))
    final = [meter.heldout_ndcg(ranker, test) or 0.0 for ranker in rankers[1:]]
    return first[0], first[1], first[2], final[0], final[1]


def sources(folder: Path | None, names: list[str]) -> Iterator[tuple[str, Dataset, Dataset, int]]:
    """The data by name, to serve and to judge by, with the number of grades."""
    for name in names:
        if name == "mq2008" and folder is None:
            continue
        parts = (open_data(name, folder=folder, part=part) for part in ("train", "test"))
        train, test = parts
        yield name, train, test.without_irrelevant(), 3 if name == "mq2008" else 5


def main() -> int:
    """Print a line for each data set and user; the exit code is 1 where a bar is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.start", description=__doc__)
    parser.add_argument("--folder", type=Path, help="where MQ2008 lies, in folds")
    parser.add_argument("--data", nargs="+", default=[*WORLDS, "mq2008"], metavar="NAME")
    parser.add_argument("--users", nargs="+", default=list(USERS), metavar="NAME")
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=10)
    chosen = parser.parse_args()
    first = ("prior alone", "with prior", "without")
    table = Table("data", "users", *first, "final", "without", "difference", "bars", box=None, padding=(0, 2, 0, 0))
    missed = False
    for name, train, test, n_grades in sources(chosen.folder, chosen.data):
        for user in chosen.users:
            found = compare_starts(train, test, user, n_grades=n_grades, rounds=chosen.rounds, seeds=chosen.seeds)
            effects = (found.alone, found.with_prior, found.without, found.final, found.final_without, found.gained)
            verdict = found.starts_well and found.ends_well
            missed |= not verdict
            cells = (f"{each.mean:.4f} ± {each.half_width or 0.0:.4f}" for each in effects)
            table.add_row(name, user, *cells, "met" if verdict else "missed")
    Console(width=160).print(table)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
