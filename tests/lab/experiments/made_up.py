"""Results that were never played: values by ranker, setting and pair, to put claims and reports to the test."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairexp.lab.experiments.paper.results import Played, Results
from tests.lab.experiments.conftest import small

BASE = {
    "pairrank": {"online nDCG@10": 100.0, "held-out nDCG@10": 0.6, "mean held-out nDCG@10": 0.55, "mean UF": 50.0},
    "fairexp-pairrank": {
        "online nDCG@10": 90.0,
        "held-out nDCG@10": 0.58,
        "mean held-out nDCG@10": 0.5,
        "mean UF": 0.1,
    },
    "fairco": {"online nDCG@10": 50.0, "held-out nDCG@10": 0.4, "mean held-out nDCG@10": 0.35, "mean UF": 5.0},
    "pdgd": {"online nDCG@10": 80.0, "held-out nDCG@10": 0.5, "mean held-out nDCG@10": 0.45, "mean UF": 30.0},
    "dbgd": {"online nDCG@10": 60.0, "held-out nDCG@10": 0.4, "mean held-out nDCG@10": 0.36, "mean UF": 20.0},
}
"""A world in which the paper is right."""
NOISE = {"online nDCG@10": 1.0, "held-out nDCG@10": 0.005, "mean held-out nDCG@10": 0.005}
ROUNDS = list(range(10, 310, 10))


def played(data: str, user: str, ranker: str, pair: tuple[int, int], values: dict[str, float], **extra: Any) -> Played:
    """One run with these measures, and curves that go with them."""
    gap = values["mean UF"]
    fair = ranker == "fairexp-pairrank"
    slope = extra.pop("slope", 0.0)
    result = {
        **values,
        "rounds": 300,
        "final UF": 2 * gap,
        "max UF": 2 * gap,
        "qualified share": 0.9 if fair else None,
        "mean added regret": extra.pop("added_regret", 3.0) if fair else 0.0,
        "mean misordered pairs": 5.0,
        "ms/round": 1.0,
        **({"rounds_beyond_qualified": extra.pop("wrong", 0), "rounds_within_unqualified": 0} if fair else {}),
    }
    points = {
        "round": ROUNDS,
        "mean online nDCG@10": [values["online nDCG@10"] / 200] * len(ROUNDS),
        "held-out nDCG@10": [values["held-out nDCG@10"] if at % 100 == 0 else None for at in ROUNDS],
        "UF": [gap * at / 300 for at in ROUNDS],
        "max UF": [gap * at / 300 for at in ROUNDS],
        "total added regret": [3.0 * at * (1 + slope * at / 300) if fair else 0 for at in ROUNDS],
    }
    parameters = extra.pop("parameters", {"tolerance": 0.1} if fair else {})
    key = f"{data}/{user}/{ranker}/{pair}/{parameters}"
    return Played(data, user, pair[1], pair[0], ranker, parameters, key, result, points)


def made_up(
    n_pairs: int = 5, *, changes: dict[str, dict[str, float]] | None = None, seed: int = 5, **extra: Any
) -> Results:
    """Results for the small experiment's settings, with noise that rankers share in part."""
    rng = np.random.default_rng(seed)
    experiment = small()
    main, sweep = [], []
    for data in experiment.data:
        for user in experiment.users:
            for pair in [(number, 1) for number in range(n_pairs)]:
                shared = rng.normal()
                for ranker, base in BASE.items():
                    values = {**base, **(changes or {}).get(ranker, {})}
                    noisy = {
                        name: value + NOISE[name] * (shared + 0.3 * rng.normal())
                        if name in NOISE
                        else value * float(np.exp(0.1 * rng.normal()))
                        for name, value in values.items()
                    }
                    special = {"added_regret": 3.0 + (data == "inlinks") + 0.1 * rng.normal(), **extra}
                    main.append(played(data, user, ranker, pair, noisy, **special))
                    if ranker == "fairexp-pairrank" and user == "navigational":
                        sweep.append((0.1, main[-1]))
                        for tolerance, factor in ((0.05, 0.5), (5.0, 30.0)):
                            moved = {**noisy, "mean UF": noisy["mean UF"] * factor}
                            moved["online nDCG@10"] += 2 * np.log(factor) * (1 + 0.1 * rng.normal())
                            moved["mean held-out nDCG@10"] += 0.01 * np.log(factor) * (1 + 0.1 * rng.normal())
                            other = played(data, user, ranker, pair, moved, parameters={"tolerance": tolerance})
                            sweep.append((tolerance, other))
    folds = [
        {
            "data": label,
            "fold": 1,
            "fingerprint": "0" * 24,
            "synthetic": True,
            "source": label,
            "groups": [
                {"name": "A", "size": 5, "share": share, "average_utility": 1.0, "total_utility": 5},
                {"name": "B", "size": 5, "share": 1 - share, "average_utility": 1.0, "total_utility": 5},
            ],
            "beta": 1.0,
            "exposure": {user: [1.0, 0.5] for user in experiment.users},
        }
        for label, share in (("pagerank", 0.5), ("inlinks", 0.65))
    ]
    overview = {
        "experiment": experiment.model_dump(mode="json"),
        "titles": {label: f"{label} (synthetic world)" for label in experiment.data},
        "folds": folds,
        "command": "fairexp experiment run small.yaml",
        "started": "2021-01-01",
        "versions": {"fairexp": "0"},
        "notes": [],
        "chosen": [],
        "runs": [],
    }
    return Results(experiment, overview, main, sweep, [], [])
