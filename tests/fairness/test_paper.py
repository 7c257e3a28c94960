"""`paper()` gives the settings of the paper, and only those that differ from the defaults need to be known by heart."""

from __future__ import annotations

import numpy as np
import pytest

from fairexp import FairExp, PairRank, Query

OF_PAIRRANK = {
    "alpha": 0.1,
    "regularization": 0.1,
    "certainty": "paper",
    "within_block": "certain",
    "pairs": "independent",
    "history": "full",
}


def test_pairrank_has_the_papers_settings_and_its_own_defaults_else():
    expected = {**PairRank(3).parameters(), **OF_PAIRRANK}
    assert PairRank.paper(3).parameters() == expected
    assert PairRank.paper(3, alpha=0.01, length=5).parameters() == {**expected, "alpha": 0.01, "length": 5}


def test_fairexp_has_the_papers_search_and_spends_nothing_on_a_smaller_gap():
    ranker = FairExp.paper(PairRank.paper(3, regularization=0.001, length=6), beta=1.22, seed=4)
    given = ranker.parameters()
    assert (given["search"], given["fairness_budget"], given["tolerance"]) == ("fairswap", 0.0, 0.1)
    assert given["shares"].tolist() == [1.22, 1.0]
    assert ranker.host.parameters() == {**PairRank(3, length=6).parameters(), **OF_PAIRRANK, "regularization": 0.001}
    assert np.array_equal(ranker.stream.key, FairExp.paper(PairRank(3), seed=4).stream.key)
    assert FairExp.paper(PairRank(3), tolerance=0.05, search="exact").search == "exact"


def test_what_neither_takes_is_refused():
    with pytest.raises(TypeError, match="toleranse"):
        FairExp.paper(PairRank(3), toleranse=0.1)


def test_theta_minimises_equation_3_over_all_independent_pairs():
    """Its gradient vanishes: each document is in one pair at most, lambda is fixed, and nothing is left out."""
    ranker, rng = PairRank.paper(3, length=6, seed=1, window=2), np.random.default_rng(0)
    rows, theta = [], None
    for _ in range(40):
        ranking = ranker.rank(Query(rng.random((8, 3)) * 1e-1))
        clicks = rng.random(6) < 0.4
        ranker.update(ranking, clicks)
        theta = ranker.model.theta
    rows = ranker.model.state()["rows"]
    gradient = 0.1 * theta - rows.T @ (1.0 / (1.0 + np.exp(rows @ theta)))
    assert ranker.unit == 1.0 and len(rows) > 30
    assert np.abs(gradient).max() < 1e-3 and np.abs(theta).max() > 0.01
    assert ranker.confidence.matrix == pytest.approx(0.1 * np.eye(3) + rows.T @ rows)
