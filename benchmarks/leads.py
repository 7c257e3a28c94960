"""Variants of FairExp on the same queries and coins: online and held-out NDCG, the mean gap, and what was called sure.

    python -m benchmarks.leads --variants default paper --data mq2008-1 mslr-pagerank --seeds 3 --out leads.json

MQ2008 and MSLR come from the folder in FAIREXP_DATA (S1.txt to S5.txt of MQ2008 in `MQ2008`, the sample of MSLR in
`MSLR-sample/train.txt`), and are left out where that is not there; worlds need nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.authors import AuthorsFairExp
from fairexp import FairExp, PairRank
from fairexp.arrays import Ints
from fairexp.lab.data import Dataset, read_letor, world
from fairexp.lab.metrics.ndcg import dataset_ndcg, ndcg
from fairexp.lab.users.dependent import PRESETS, preset_grades
from fairexp.statistics import effect
from fairexp.types import SURE, Belief

FOLDER = Path(os.environ.get("FAIREXP_DATA", "data"))
FOLDS = tuple(f"mq2008-{fold}" for fold in range(1, 6))
WORLDS = ("mslr-pagerank", "yahoo-9")
DATA = (*FOLDS, "mslr-sample", *WORLDS)
USERS = ("perfect", "navigational", "informational")
GAMMA = 0.9995
LOOK_EVERY = 50
"""Rounds between counts of what was called sure."""

AUTHORS = {
    ("mq2008-1", "perfect"): (352.0, 0.4818, 0.094),
    ("mq2008-1", "navigational"): (339.4, 0.4806, 0.089),
    ("mq2008-1", "informational"): (327.9, 0.4598, 0.083),
    ("mq2008-2", "perfect"): (371.8, 0.4422, 0.084),
    ("mq2008-2", "navigational"): (363.4, 0.4403, 0.078),
    ("mq2008-2", "informational"): (347.8, 0.4202, 0.077),
    ("mq2008-3", "perfect"): (365.9, 0.4828, 0.1),
    ("mq2008-3", "navigational"): (357.2, 0.4803, 0.093),
    ("mq2008-3", "informational"): (347.2, 0.4701, 0.093),
    ("mq2008-4", "perfect"): (347.3, 0.5567, 0.1),
    ("mq2008-4", "navigational"): (339.3, 0.5477, 0.094),
    ("mq2008-4", "informational"): (327.0, 0.5241, 0.092),
    ("mq2008-5", "perfect"): (320.6, 0.5333, 0.101),
    ("mq2008-5", "navigational"): (316.6, 0.5306, 0.096),
    ("mq2008-5", "informational"): (305.3, 0.5008, 0.09),
    ("mslr-sample", "perfect"): (291.0, 0.4218, 0.005),
    ("mslr-sample", "navigational"): (273.2, 0.4224, 0.006),
    ("mslr-sample", "informational"): (246.8, 0.3863, 0.016),
}
"""Online, held out and mean gap of the code of the paper's authors on the same queries and coins, three seeds."""

DIFFERENCES = {"online": 1, "held_out": 3}
"""Measures that variants are compared by, and how many digits they are told with."""

Variant = dict[str, Any]
MATCHED: Variant = {"pairs": "independent"}
VARIANTS: dict[str, tuple[Variant, Variant]] = {
    "paper": ({**MATCHED, "certainty": "paper", "regularization": 10.0}, {"fairness_budget": 0.0}),
    "matched": (MATCHED, {"fairness_budget": 0.0}),
    "averaged": ({}, {"fairness_budget": 0.0}),
    "default": ({}, {}),
    "a tenth": ({}, {"tolerance": 0.01}),
}
"""Arguments of PairRank and of FairExp by name."""

REPLAY = "authors"
"""The variant that plays what the authors' code does."""

NAMES = (*VARIANTS, REPLAY)


def main(arguments: list[str] | None = None) -> None:
    """Play the chosen cells, add them to the file, and print means and paired differences."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.leads", description=__doc__)
    parser.add_argument("--variants", nargs="+", choices=NAMES, default=NAMES, metavar="NAME")
    parser.add_argument("--data", nargs="+", choices=DATA, default=DATA, metavar="NAME")
    parser.add_argument("--users", nargs="+", choices=USERS, default=USERS, metavar="NAME")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--out", type=Path, default=Path("leads.json"))
    chosen = parser.parse_args(arguments)
    kept = json.loads(chosen.out.read_text()) if chosen.out.exists() else []
    done = {_cell(row) for row in kept}
    for name in chosen.data:
        if opened(name) is None:
            print(f"{name}: no data in {FOLDER}, left out")
            continue
        for row in cells(name, chosen.users, chosen.variants, chosen.seeds, chosen.rounds, done):
            kept.append(row)
            chosen.out.write_text(json.dumps(kept, indent=0))
    wanted = [row for row in kept if row["variant"] in chosen.variants and row["data"] in chosen.data]
    print("\n".join(table(wanted, chosen.variants)))


def cells(
    name: str, users: tuple[str, ...], variants: tuple[str, ...], seeds: int, rounds: int, done: set[str]
) -> Iterator[dict[str, Any]]:
    """A row for each cell of one data set that is not `done`."""
    for user in users:
        for seed in range(seeds):
            for variant in variants:
                known = {"data": name, "user": user, "variant": variant, "seed": seed, "rounds": rounds}
                if _cell(known) not in done:
                    yield known | play(name, user, seed, rounds, maker(variant))


def _cell(row: dict[str, Any]) -> str:
    return " ".join(str(row[key]) for key in ("data", "user", "variant", "seed", "rounds"))


def maker(variant: str) -> Callable[[int, int], Any]:
    """Makes what a variant is from the number of features and a seed."""
    if variant == REPLAY:
        return lambda n_features, seed: AuthorsFairExp(n_features, seed=seed)
    return build(*VARIANTS[variant])


def build(host: Variant, around: Variant) -> Callable[[int, int], FairExp]:
    """Makes FairExp around PairRank from the number of features and a seed."""
    return lambda n_features, seed: FairExp(
        PairRank(n_features, **host, seed=seed), **({"tolerance": 0.1} | around), seed=seed
    )


def play(name: str, user: str, seed: int, rounds: int, make: Callable[[int, int], Any]) -> dict[str, float]:
    """One run: queries and coins depend on the seed alone, so that variants can be compared in pairs."""
    parts = opened(name)
    assert parts is not None
    train, test = parts
    click, stop = (np.array(of) for of in PRESETS[user, preset_grades(train.max_grade)])
    rng = np.random.default_rng([seed, 99])
    served, coins = rng.integers(train.n_queries, size=rounds), rng.random((rounds, 2, 10))
    ranker = make(train.n_features, seed)
    online, gaps, sure, began = 0.0, np.zeros(rounds), np.zeros(4), time.process_time()
    for t, q in enumerate(served.tolist()):
        grades, ranking = train.relevance(q), ranker.rank(train.query(q))
        shown = grades[ranking.shown]
        ranker.update(ranking, clicked(shown, click, stop, coins[t]))
        online += GAMMA**t * ndcg(shown, grades)
        gaps[t] = ranker.ledger.largest_gap
        if t % LOOK_EVERY == LOOK_EVERY - 1 and ranking.belief is not None:
            sure += judged(ranking.belief, grades)
    seconds = time.process_time() - began
    held = dataset_ndcg(ranker.score(_features(test)), test.grades, test.offsets)
    return {
        "online": online,
        "held_out": float(held.mean()),
        "gap": float(gaps.mean()),
        "largest": float(gaps.max()),
        "certain": sure[0],
        "certain_wrong": sure[1],
        "sure": sure[2],
        "sure_wrong": sure[3],
        "seconds": seconds,
    }


def clicked(grades: Ints, click: Any, stop: Any, coins: Any) -> Any:
    """Clicks (m,) of a user that goes down the list and may leave after a click."""
    clicks = coins[0, : len(grades)] < click[grades]
    leaves = np.flatnonzero(clicks & (coins[1, : len(grades)] < stop[grades]))
    if len(leaves):
        clicks[leaves[0] + 1 :] = False
    return clicks


def judged(belief: Belief, grades: Ints) -> Any:
    """Pairs of different grades whose order is called certain, those of them that are wrong, and the same of 95%."""
    row_costs, row = belief.costs
    better = grades[:, None] > grades[None, :]
    certain = belief.certain_order
    sure = (row_costs >= 0.9 * SURE if belief.regret is not None else row_costs)[np.ix_(row, row)]
    wrong = better.T
    differ = better | wrong
    return np.array([(certain & differ).sum(), (certain & wrong).sum(), (sure & differ).sum(), (sure & wrong).sum()])


@lru_cache(maxsize=1)
def opened(name: str) -> tuple[Dataset, Dataset] | None:
    """The queries to serve and those held out; None where there is no such file."""
    if name in WORLDS:
        return world(name, n_queries=100), world(name, n_queries=100, part="test")
    if name in FOLDS:
        paths = [FOLDER / "MQ2008" / f"S{number}.txt" for number in range(1, 6)]
        if not all(path.exists() for path in paths):
            return None
        first = FOLDS.index(name)
        parts = [read_letor(paths[(first + i) % 5]).grouped_by_feature(41, threshold=0.4) for i in (0, 1, 2, 4)]
        return joined(parts[:3]), parts[3]
    path = FOLDER / "MSLR-sample" / "train.txt"
    if not path.exists():
        return None
    data = read_letor(path).grouped_by_feature(130, threshold=0.12)
    data = replace(data, blanked=(41, 130))
    return data.subset(range(28)), data.subset(range(28, data.n_queries))


def joined(parts: list[Dataset]) -> Dataset:
    """One data set of several with the same features."""
    sizes = np.concatenate([np.diff(part.offsets) for part in parts])
    return replace(
        parts[0],
        features=np.concatenate([part.features for part in parts]),
        grades=np.concatenate([part.grades for part in parts]),
        groups=np.concatenate([part.groups for part in parts if part.groups is not None]),
        offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        query_ids=tuple(f"{number}-{of}" for number, part in enumerate(parts) for of in part.query_ids),
        raw=None,
        raw_rows=None,
    )


def _features(data: Dataset) -> Any:
    return np.concatenate([features for features, _, _ in data.chunks()])


def table(rows: list[dict[str, Any]], variants: tuple[str, ...]) -> list[str]:
    """A table in Markdown: means by data and user, and paired differences to the first variant with 95% intervals."""
    head = ("data", "user", "variant", "online", "held out", "mean gap", "worst seed", "called certain, wrong")
    titles = (*head, "online, less the first", "held out, less the first")
    of_data, of_user = (list(dict.fromkeys(row[key] for row in rows)) for key in ("data", "user"))
    lines = [line for data, user in product(of_data, of_user) for line in _lines(data, user, variants, rows)]
    return [f"| {' | '.join(titles)} |", "|---" * len(titles) + "|", *lines]


def _lines(data: str, user: str, variants: tuple[str, ...], rows: list[dict[str, Any]]) -> list[str]:
    """The rows of one cell: the authors' figures where there are any, and each variant's."""
    lines = []
    if (data, user) in AUTHORS:
        online, held, gap = AUTHORS[data, user]
        lines.append(f"| {data} | {user} | authors' code | {online:.1f} | {held:.4f} | {gap:.3f} | | | | |")
    of = {name: {row["seed"]: row for row in rows if _of(row) == (data, user, name)} for name in variants}
    for name, own in of.items():
        if not own:
            continue
        online, held, gap = (np.mean([row[key] for row in own.values()]) for key in ("online", "held_out", "gap"))
        called, wrong = (int(sum(row[key] for row in own.values())) for key in ("certain", "certain_wrong"))
        told = f"{called}, {wrong / called:.0%}" if called else "0"
        worst = min(row["online"] for row in own.values())
        cells = [data, user, name, f"{online:.1f}", f"{held:.4f}", f"{gap:.3f}", f"{worst:.1f}", told]
        cells += [_difference(own, of[variants[0]], key) if name != variants[0] else "" for key in DIFFERENCES]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _of(row: dict[str, Any]) -> tuple[str, str, str]:
    return row["data"], row["user"], row["variant"]


def _difference(own: dict[int, dict[str, Any]], other: dict[int, dict[str, Any]], key: str) -> str:
    found = effect(own[seed][key] - other[seed][key] for seed in own.keys() & other.keys())
    digits = DIFFERENCES[key]
    if found.low is None or found.high is None:
        return f"{found.mean:+.{digits}f}"
    return f"{found.mean:+.{digits}f} [{found.low:.{digits}f}, {found.high:.{digits}f}]"


if __name__ == "__main__":
    main()
