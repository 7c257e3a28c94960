"""Every ranker that learns of clicks, with the click model of its guarantee: one run, or as many as are asked for.

`make guarantees` sets FAIREXP_GUARANTEE_RUNS to 20: then each run has 10,000 rounds, and growth is fitted to the last
two decades of them. Without it there is one shorter run, and growth is fitted to the last decade.
"""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass, field

import numpy as np

from fairexp.rankers import FAIR
from fairexp.registry import construct, ranker_class, ranker_names

RUNS = int(os.environ.get("FAIREXP_GUARANTEE_RUNS", "1"))
LONG = 10_000
DECADES = 2 if RUNS > 1 else 1
SLOW, LINEAR = 0.8, 0.95
"""Regret of a ranker with a guarantee must grow by a smaller power of rounds, that of chance by a larger one."""


@dataclass(frozen=True)
class Case:
    """A ranker's click model, the rounds of a short run, its parameters, and whether it plans for a horizon."""

    model: str
    short: int
    parameters: dict = field(default_factory=dict)
    planned: bool = False

    @property
    def rounds(self):
        return LONG if RUNS > 1 else self.short

    def ranker(self, name, seed, **known):
        """The ranker called `name`, with what its surroundings know."""
        planned = {"horizon": self.rounds} if self.planned else {}
        return construct(name, {**self.parameters, **planned}, known={"n_features": 2, "seed": seed, **known})


CASES = {
    "batchrank": Case("positions", 6000, planned=True),
    "bubblerank": Case("positions", 6000, planned=True),
    "c3-ucb": Case("cascade", 1500),
    "cascade-kl-ucb": Case("cascade", 1500),
    "cascade-linucb": Case("cascade", 1500, {"width": "theory"}),
    "cascade-ucb1": Case("cascade", 1500),
    "dcm-kl-ucb": Case("cascade", 1500),
    "pairrank": Case("read", 1000),
    "pdgd": Case("positions", 3000),
    "pdgd-neural": Case("positions", 3000),
    "rba": Case("cascade", 4000, planned=True),
    "recurrank": Case("positions", 3000, planned=True),
    "toprank": Case("positions", 3000, planned=True),
    "unirank": Case("positions", 3000, planned=True),
}
"""Rates are linear in the features of the one query that is served, for those that go by features."""

HOSTS = [name for name in CASES if FAIR + name in ranker_names()]


def described(attraction):
    """Features (n, 2) in which the attraction is linear."""
    return np.column_stack([attraction, 1.0 - attraction])


def tell(name, case, slopes, of_chance):
    """Log what was found, which `make guarantees` shows."""
    found = f"{min(slopes):.2f} to {max(slopes):.2f}, of chance {min(of_chance):.2f} to {max(of_chance):.2f}"
    logging.getLogger(__name__).info("%s: growth %s, %d runs of %d rounds", name, found, RUNS, case.rounds)


def is_control(name):
    """Whether a ranker is there for comparison only and learns nothing."""
    return ranker_class(name).__module__ == "fairexp.rankers.baselines.controls"
