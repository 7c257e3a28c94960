"""Collections split as LETOR is, with rankers that really learn from them: how often do intervals hold the truth?

Five parts; fold f serves the queries of parts f, f+1 and f+2, drawn with replacement, and tests on part f+4. A query
has a difficulty, which all rankers share, and wants a point near one that all queries have in common; a ranker learns
that point as the mean of what noisy rounds tell, so that what it learned, too, depends on the queries that folds share.
The truth is the mean over collections drawn afresh: what the inference is to extend to.

    python -m tests.statistics.letor_layout --trials 20000
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass

import numpy as np

from fairexp.arrays import Floats
from fairexp.statistics import Sharing, effect

PARTS, TRAINING = 5, 3
ROUNDS, SEEDS, DIMENSIONS = 120, 3, 3
LAYOUT = Sharing.of([{(fold + step) % PARTS for step in range(TRAINING)} for fold in range(PARTS)])
"""Which parts folds have in common, as the queries of a real collection tell."""


@dataclass(frozen=True)
class Case:
    """A kind of collection: queries to a part, how much they differ in difficulty and in what they want, and noise."""

    name: str
    queries: int = 20
    difficulty: float = 1.0
    wants: float = 0.5
    noise: float = 1.0


CASES = (
    Case("queries differ in difficulty"),
    Case("queries differ in what they want", difficulty=0.2, wants=1.0, noise=0.5),
    Case("few queries", queries=5, wants=1.0),
    Case("clicks are noise", difficulty=0.2, wants=0.3, noise=4.0),
)


def values(case: Case, trials: int, seed: int = 0) -> dict[str, Floats]:
    """What each fold came to (trials, folds), the mean over its seeds: a ranker's, and what it is above another."""
    rng = np.random.default_rng(seed)
    difficulty = rng.normal(0.0, case.difficulty, (trials, PARTS * case.queries))
    wants = rng.normal(0.0, case.wants, (trials, PARTS * case.queries, DIMENSIONS))
    folds, every = np.arange(PARTS), np.arange(trials)[:, None, None]
    first = (case.queries * folds)[None, :, None]
    shape = (trials, PARTS, SEEDS)
    seen = np.zeros((*shape, DIMENSIONS))
    online = {"quick": np.zeros(shape), "slow": np.zeros(shape)}
    for number in range(ROUNDS):
        served = (first + rng.integers(TRAINING * case.queries, size=shape)) % (PARTS * case.queries)
        wanted = wants[every, served]
        for name, learned in _learned(seen, number).items():
            online[name] += difficulty[every, served] - ((learned - wanted) ** 2).sum(axis=-1)
        seen += wanted + rng.normal(0.0, case.noise, wanted.shape)
    tests = (case.queries * ((folds[:, None] + PARTS - 1) % PARTS) + np.arange(case.queries)).ravel()
    tested = wants[:, tests].reshape(trials, PARTS, 1, case.queries, DIMENSIONS)
    easy = difficulty[:, tests].reshape(trials, PARTS, 1, case.queries)
    heldout = {
        name: (easy - ((learned[..., None, :] - tested) ** 2).sum(axis=-1)).mean(axis=-1)
        for name, learned in _learned(seen, ROUNDS).items()
    }
    found = {}
    for what, by_ranker in (("online", online), ("held out", heldout)):
        found[what] = by_ranker["quick"].mean(axis=-1)
        found[f"{what}, paired"] = (by_ranker["quick"] - by_ranker["slow"]).mean(axis=-1)
    return found


def _learned(seen: Floats, rounds: int) -> dict[str, Floats]:
    """The points that two rankers show by: one trusts what it saw, the other half of it only."""
    mean = seen / max(rounds, 1)
    return {"quick": mean, "slow": 0.5 * mean + 0.3}


def coverage(folds: Floats, correlation: list[list[float]] | None) -> float:
    """The share of trials whose 95% interval holds the mean of all trials."""
    truth = folds.mean()
    found = [effect(row, correlation) for row in folds.tolist()]
    return sum(one.low <= truth <= one.high for one in found) / len(found)  # type: ignore[operator]


def main() -> None:
    """Print the coverage of every case, beside what folds would give if they were taken for independent."""
    parser = argparse.ArgumentParser(prog="python -m tests.statistics.letor_layout", description=__doc__)
    parser.add_argument("--trials", type=int, default=20_000, help="collections of each kind")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    for case in CASES:
        for what, folds in values(case, chosen.trials, chosen.seed).items():
            correlation = LAYOUT.correlation(list(range(PARTS)), held_out=what.startswith("held out"))
            as_told, naive = coverage(folds, correlation), coverage(folds, None)
            line = f"{case.name:33} {what:18} {as_told:.3f}   if folds were independent {naive:.3f}"
            sys.stdout.write(line + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
