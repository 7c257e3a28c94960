"""Every ranker of the registry's table keeps the contract, prints itself, and can be cloned."""

from __future__ import annotations

import numpy as np
import pytest

from fairexp import FairExp, PairRank
from fairexp.checks import all_queries, check_ranker
from fairexp.registry import classes_of, construct, keeps_account, keeps_tolerance, ranker_names, relative_cost

GRADES = {query.query_id: np.floor(3 * np.clip(query.features[:, 0], 0, 1)) for query in all_queries(5, 2, seed=0)}
KNOWN = {"n_features": 5, "weights": np.array([1.0, -1.0, 0.5, 0.0, 2.0]), "grades": GRADES, "tolerance": 0.3}
SMALL = {"window": 32}
"""The window is full, and memory level, well within the check's rounds."""


def make(name, seed):
    if name == "lp-fair":
        pytest.importorskip("scipy")
    return construct(name, {}, known={**KNOWN, **SMALL, "seed": seed})


@pytest.mark.parametrize("name", ranker_names())
def test_every_ranker_of_the_table_keeps_the_contract(name):
    check_ranker(lambda seed: make(name, seed), rounds=1500 if "pairrank" in name else 300)


@pytest.mark.parametrize("name", ranker_names())
def test_every_ranker_shows_its_parameters_and_is_built_from_them_again(name):
    ranker = make(name, 3)
    again = type(ranker)(**ranker.parameters(), seed=4)
    assert repr(again) == repr(ranker)
    assert "seed" not in ranker.parameters()


@pytest.mark.parametrize("name", ranker_names())
def test_traits_by_name_are_those_of_the_ranker(name):
    ranker = make(name, 0)
    assert relative_cost(name) == ranker.relative_cost
    assert (keeps_account(name), keeps_tolerance(name)) == (ranker.keeps_account, ranker.keeps_tolerance)
    assert classes_of(name)[0] is type(ranker) and classes_of(name)[-1] is type(ranker.learner)


def test_fairexp_is_what_its_host_is():
    for name in ("pairrank", "oracle", "fixed"):
        host, fair = make(name, 0), make(f"fairexp-{name}", 0)
        for trait in ("learns_by_increments", "needs_query_id", "rescaling", "keeps_history", "scores_unseen"):
            assert getattr(fair, trait) == getattr(host, trait)
        assert fair.relative_cost == host.relative_cost + FairExp.relative_cost


def test_a_ranker_prints_what_it_would_be_written_as():
    assert repr(FairExp(PairRank(n_features=46), tolerance=0.5)) == "FairExp(PairRank(n_features=46), tolerance=0.5)"
    fair = FairExp(PairRank(3, alpha=0.2, length=2), tolerance=9.0, shares=[1.0, 2.0, 1.0], exposure=[1.0, 0.25])
    inner = "PairRank(n_features=3, length=2, alpha=0.2)"
    assert repr(fair) == f"FairExp({inner}, tolerance=9.0, shares=[1.0, 2.0, 1.0], exposure=[1.0, 0.25])"


def test_a_clone_shares_nothing_with_what_was_learned():
    ranker = make("fairexp-pairrank", 1)
    query = all_queries(5, 2, seed=0)[0]
    ranking = ranker.rank(query)
    copy = ranker.clone(seed=1)
    learned = ranker.state()
    copy.update(copy.rank(query), np.ones(len(ranking), dtype=bool))
    assert copy.host is not ranker.host
    assert all(np.array_equal(value, learned[key]) for key, value in ranker.state().items())
