"""An infinite tolerance limits nothing: FairExp is then its host, whichever that is, with and without pins."""

from __future__ import annotations

import numpy as np
import pytest

from fairexp import PDGD, Constraint, FairExp, PairRank, Query
from fairexp.kernels.pdgd.pdgd import log_rest
from fairexp.ranker import Host
from fairexp.rankers import RANKERS, RecurRank
from fairexp.registry import construct, ranker_class

HOSTS = [name for name in RANKERS if issubclass(ranker_class(name), Host) and name not in ("fixed", "oracle")]
N, SHOWN, N_FEATURES = 9, 4, 3
KNOWN = {"n_features": N_FEATURES, "length": SHOWN, "seed": 3}


def rounds(ranker, count):
    """Three queries in turn, with clicks that go by one feature; yields each list."""
    rng = np.random.default_rng(0)
    queries = [
        Query(rng.random((N, N_FEATURES)), rng.integers(2, size=N), query_id=q, document_ids=np.arange(N))
        for q in range(3)
    ]
    for number in range(count):
        ranking = ranker.rank(queries[number % 3])
        ranker.update(ranking, rng.random(SHOWN) < ranking.features[:, 0])
        yield ranking.shown.tolist()


@pytest.mark.parametrize("name", HOSTS)
def test_every_host_shows_what_it_shows_alone_and_learns_the_same(name):
    host = construct(name, {}, known=KNOWN)
    fair = construct(f"fairexp-{name}", {"tolerance": np.inf}, known=KNOWN)
    assert list(rounds(host, 240)) == list(rounds(fair, 240))
    alone, inside = host.state(), fair.host.state()
    for key in alone.keys() - {"identity", "n_ranked", "stream"}:
        assert np.array_equal(alone[key], inside[key]), key


def test_with_a_limit_a_stochastic_host_knows_that_groups_have_their_places():
    limited, unlimited = (FairExp(PDGD(N_FEATURES, length=SHOWN), tolerance=each) for each in (1.0, np.inf))
    query = Query(np.eye(N)[:, :N_FEATURES], [0, 1, 0, 1, 0, 1, 0, 1, 0])
    assert limited.host.believe(query).fill is not None and unlimited.host.believe(query).fill is None


def test_one_limit_of_several_is_a_limit():
    both = [Constraint(np.inf, name="free"), Constraint(0.5, name="bound")]
    assert FairExp(PairRank(2), constraints=both).host.templated
    assert not FairExp(PairRank(2), constraints=both[:1]).host.templated


def test_pinned_documents_are_none_that_the_host_could_have_drawn():
    ranker = FairExp(PDGD(N_FEATURES, length=SHOWN, seed=1), tolerance=np.inf, seed=1)
    ranker.host.weights = np.array([2.0, 0.0, 0.0])
    query = Query(np.random.default_rng(2).random((N, N_FEATURES)), [0, 1] * 4 + [0], pinned={1: 5})
    ranking = ranker.rank(query)
    scores, left = ranker.score(query.features), [each for each in range(N) if each != 5]
    chosen = [position for position in range(SHOWN) if position != 1]
    expected = log_rest(scores[left], np.zeros(N - 1, dtype=np.int64), np.searchsorted(left, ranking.shown[chosen]))
    assert ranking.shown[1] == 5
    assert np.asarray(ranking.memory["log_rest"])[chosen] == pytest.approx(expected)


def test_documents_that_can_be_shown_do_not_wait_for_pinned_ones():
    """Trials of a part end when all of its documents had theirs; a pinned one has none, and is a part of its own."""
    query = Query(np.eye(4), [0, 1, 0, 1], query_id="q", document_ids=np.arange(4), pinned={1: 2})
    ranker = FairExp(RecurRank(4, length=3, horizon=100, seed=1), tolerance=np.inf, seed=1)
    for _ in range(400):
        ranking = ranker.rank(query)
        ranker.update(ranking, np.isin(ranking.shown, [0]))
    assert ranker.host.queries.records["q"].tables["phase"][[0, 1, 3]].max() > 1
