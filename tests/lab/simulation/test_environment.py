from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fairexp
from fairexp.errors import ArgumentError
from fairexp.lab.simulation.environment import Environment, parameters_of, ranker_for, ranker_names
from fairexp.rankers.baselines.controls import RandomRanker


def environment(**changes: Any) -> Environment:
    known: dict[str, Any] = {
        "n_features": 3,
        "length": 4,
        "exposure": np.array([1.0, 0.5, 0.25, 0.125]),
        "shares": np.array([2.0, 1.0]),
        "grades": lambda: {"q": np.array([0, 1])},
        "seed": 7,
    }
    return Environment(**{**known, **changes})


def test_every_name_builds_a_ranker() -> None:
    for name in ranker_names():
        if name == "lp-fair":
            pytest.importorskip("scipy")
        parameters: dict[str, Any] = {"weights": [1.0, 0.0, 0.0]} if name.endswith("fixed") else {}
        if name.startswith("fairexp-"):
            parameters["tolerance"] = 9.0
        ranker = ranker_for(name, environment(), parameters)
        assert ranker.length == 4 and ranker.n_features == 3
        assert isinstance(ranker, fairexp.FairExp) == name.startswith("fairexp-")


def test_rankers_take_what_the_environment_knows() -> None:
    fair: Any = ranker_for("fairexp-pairrank", environment(), {"alpha": 0.3, "tolerance": 0.7})
    assert (fair.tolerance, fair.host.alpha) == (0.7, 0.3)
    assert fair.ledger.shares.tolist() == [2.0, 1.0] and fair.exposure.tolist() == [1.0, 0.5, 0.25, 0.125]
    controller: Any = ranker_for("fairco", environment())
    assert controller.merit.tolist() == [2.0, 1.0]
    own_beta: Any = ranker_for("fairexp-pairrank", environment(), {"beta": 5.0, "tolerance": 9.0})
    assert own_beta.ledger.shares.tolist() == [5.0, 1.0]


def test_seeds_make_rankers_repeat() -> None:
    query = fairexp.Query(features=np.random.default_rng(0).normal(size=(9, 3)))
    shown = [ranker_for("random", environment(seed=seed)).rank(query).shown.tolist() for seed in (1, 1, 2)]
    assert shown[0] == shown[1] != shown[2]


def test_an_import_path_is_a_ranker_too() -> None:
    path = "fairexp.rankers.baselines.controls:RandomRanker"
    assert isinstance(ranker_for(path, environment()), RandomRanker)
    fair: Any = ranker_for(f"fairexp-{path}", environment(), {"tolerance": 9.0})
    assert isinstance(fair.host, RandomRanker)


def test_parameters_of_both_layers() -> None:
    names = parameters_of("fairexp-pairrank")
    assert {"tolerance", "alpha", "regularization"} <= names.keys() and "host" not in names


@pytest.mark.parametrize(
    ("name", "parameters", "told"),
    [
        ("batchrnk", {}, "Did you mean 'batchrank'"),
        ("fairexp-dbgd", {}, "explicit belief"),
        ("pdgd", {"learning_rat": 1}, "learning_rate"),
        ("no.such:Thing", {}, "importable"),
        ("fairexp.errors:DataError", {}, "derives from fairexp.Ranker"),
        ("fixed", {}, "weights"),
    ],
)
def test_what_cannot_be_built_is_refused(name: str, parameters: dict[str, Any], told: str) -> None:
    with pytest.raises(ArgumentError, match=told):
        ranker_for(name, environment(), parameters)


def test_fairness_needs_groups() -> None:
    with pytest.raises(ArgumentError, match="group"):
        ranker_for("fairexp-pairrank", environment(shares=None))
