"""What the diagonal width costs in quality: `python -m benchmarks.widths` plays PairRank with both and prints a table.

Runs of one seed meet the same queries and the same coins of users, so differences are taken seed by seed.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import t

from fairexp.arrays import Floats
from fairexp.lab.metrics import total_discount
from fairexp.lab.simulation.pool.batch import run_many
from fairexp.lab.simulation.result import Result
from fairexp.lab.simulation.settings import DataSettings, RunSettings
from fairexp.measures import HELDOUT_NDCG, ONLINE_NDCG, SPEED

WORLDS = ("mslr-pagerank", "yahoo-9")
KINDS = ("full", "diagonal")
COVERAGE = 0.95


class Quality(NamedTuple):
    """By seed (S,): the discounted mean NDCG@10 of what was shown, held-out NDCG@10, and milliseconds a round."""

    online: Floats
    heldout: Floats
    milliseconds: Floats


def main() -> None:
    """Play the runs and print a Markdown table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.widths", description=__doc__)
    parser.add_argument("--data", nargs="+", default=list(WORLDS), help="worlds or collections")
    parser.add_argument("--folder", help="where a collection lies")
    parser.add_argument("--user", nargs="+", default=["perfect", "informational"])
    parser.add_argument("--rounds", type=int, default=5000)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, help="processes (default: one per core)")
    chosen = parser.parse_args()
    print("| data | user | width | online NDCG@10 | held-out NDCG@10 | ms per round |\n|---|---|---|---|---|---|")
    for data in chosen.data:
        for user in chosen.user:
            settings = RunSettings(
                ranker="pairrank", data=DataSettings(data, chosen.folder), user=user, rounds=chosen.rounds, n_points=2
            )
            found = {kind: played(settings, kind, seeds=chosen.seeds, jobs=chosen.jobs) for kind in KINDS}
            print("\n".join(lines(f"{data} | {user}", found)), flush=True)


def played(settings: RunSettings, width: str, *, seeds: int, jobs: int | None) -> Quality:
    """The quality of PairRank with this width, for each seed."""
    runs = [
        RunSettings(**{**vars(settings), "parameters": {**settings.parameters, "width": width}, "seed": seed})
        for seed in range(seeds)
    ]
    return quality([result for result in run_many(runs, jobs=jobs) if result is not None])


def quality(results: Sequence[Result]) -> Quality:
    """Quality by seed, from whole runs."""
    online = [result.value(ONLINE_NDCG) / total_discount(result.rounds) for result in results]
    heldout = [np.nan if (found := result[HELDOUT_NDCG]) is None else found for result in results]
    milliseconds = [1e3 / result.value(SPEED) for result in results]
    return Quality(np.array(online), np.array(heldout), np.array(milliseconds))


def lines(what: str, found: dict[str, Quality]) -> list[str]:
    """Rows of the table: each width, then by how much the second differs from the first."""
    first, second = found.values()
    rows = [
        f"| {what} | {kind} | {interval(one.online)} | {interval(one.heldout)} | {one.milliseconds.mean():.2f} |"
        for kind, one in found.items()
    ]
    online, heldout = second.online - first.online, second.heldout - first.heldout
    difference = " - ".join(reversed(found))
    return [*rows, f"| {what} | {difference} | {interval(online, sign='+')} | {interval(heldout, sign='+')} | |"]


def interval(values: Floats, *, sign: str = "") -> str:
    """The mean of `values` (S,) with half of its 95% t interval.

    >>> interval(np.array([0.5, 0.6, 0.7]))
    '0.600 ± 0.248'
    """
    half = t.ppf(0.5 + COVERAGE / 2, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return f"{values.mean():{sign}.3f} ± {half:.3f}"


if __name__ == "__main__":
    main()
