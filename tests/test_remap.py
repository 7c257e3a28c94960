"""Rankers go on with other features, groups, units and parameters: nothing that still makes sense is lost."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairexp import PDGD, FairCo, FairExp, PairRank, Query
from fairexp.errors import ArgumentError, StateError
from fairexp.fairness.ledger import Ledger, taken_over
from fairexp.rankers import DBGD
from fairexp.remap import NEW, Remap

NAMES = ["a", "b", "c"]
GROUPS = ["small", "large"]


def matched(features, *, groups=GROUPS, factors=None):
    return Remap.by_name(features, before=NAMES, factors=factors, groups=groups, groups_before=GROUPS)


def played(make, features_of, rounds=60, *, seed=0):
    """A ranker after some rounds of queries, whose features `features_of` makes of three random ones."""
    ranker = make()
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        raw = rng.random((8, 3))
        clicks = rng.random(4) < 0.4
        ranking = ranker.rank(Query(features_of(raw), groups=np.arange(8) % 2))
        # The same documents are clicked whatever the features are called.
        ranker.update(ranking, clicks)
    return ranker


def pairrank(n_features, **options):
    return PairRank(n_features, length=4, seed=3, **options)


@pytest.mark.parametrize("window", [16, 1024])
def test_a_new_feature_starts_as_if_it_had_always_been_zero(window):
    """The twin has had the feature from the beginning, and it was 0."""
    # Wide intervals: nothing is certain, so that both show the same whatever the last digits of theta are.
    options = {"window": window, "regularization": 10.0, "alpha": 10.0}
    plain = played(lambda: pairrank(3, **options), lambda raw: raw)
    twin = played(lambda: pairrank(4, **options), lambda raw: np.insert(raw, 1, 0.0, axis=1))
    changed = pairrank(4, **options).take_over(plain, matched(["a", "new", "b", "c"]))
    assert changed.model.theta == pytest.approx(twin.model.theta, abs=1e-3) and changed.model.theta[1] == 0.0
    assert changed.model.theta[[0, 2, 3]].tolist() == plain.model.theta.tolist()
    assert changed.confidence.matrix == pytest.approx(twin.confidence.matrix)
    assert changed.confidence.inverse[1, 1] == pytest.approx(1 / changed.regularization)
    assert changed.confidence.log_det_ratio == pytest.approx(twin.confidence.log_det_ratio)
    query = Query(np.insert(np.random.default_rng(9).random((8, 3)), 1, 0.0, axis=1))
    assert changed.rank(query).shown.tolist() == twin.rank(query).shown.tolist()


def test_what_the_evidence_and_the_checks_say_stays():
    before = played(lambda: pairrank(3), lambda raw: raw)
    changed = pairrank(4).take_over(before, matched(["a", "new", "b", "c"]))
    assert np.array_equal(changed.model.ridge, changed.confidence.ridge)
    assert np.array_equal(changed.model.ridge[[0, 2, 3]], before.model.ridge) and before.model.regularization != 10.0
    assert changed.calibration.all.value == before.calibration.all.value != 1.0
    assert changed.confidence.inverse[1, 1] == pytest.approx(1 / before.model.regularization)


def test_a_feature_that_is_gone_leaves_and_the_rest_stays():
    before = played(lambda: pairrank(3), lambda raw: raw)
    changed = pairrank(2).take_over(before, matched(["c", "a"]))
    assert changed.model.theta.tolist() == before.model.theta[[2, 0]].tolist()
    assert changed.confidence.matrix == pytest.approx(before.confidence.matrix[np.ix_([2, 0], [2, 0])])
    # The next update goes to the least of the objective over the rows that are left.
    rows = np.array([[0.5, -0.5]])
    changed.model.add(rows)
    exact = pairrank(2, history="full")
    exact.model.add(np.vstack([before.model.state()["rows"][:, [2, 0]], rows]))
    assert changed.model.objective(changed.model.theta) <= changed.model.objective(exact.model.theta) + 2e-3


@given(seed=st.integers(0, 2**32 - 1), window=st.sampled_from([8, 64, None]), other=st.sampled_from([8, 64, None]))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_other_units_and_windows_change_neither_scores_nor_widths(seed, window, other):
    rng = np.random.default_rng(seed)
    options = {"regularization": 1e-6, "pairs": "all"}

    def made(n_rows):
        return pairrank(
            3, history="full" if n_rows is None else "bounded", window=8 if n_rows is None else n_rows, **options
        )

    before = played(lambda: made(window), lambda raw: raw, 20, seed=seed)
    factors = np.exp(rng.normal(size=3))
    remap = Remap.by_name(["c", "a", "b"], before=NAMES, factors=factors, groups=GROUPS, groups_before=GROUPS)
    changed = made(other).take_over(before, remap)
    features = rng.random((6, 3))
    translated = features[:, [2, 0, 1]] * factors
    assert changed.score(translated) == pytest.approx(before.score(features))
    one, two = before.confidence.weigh(features), changed.confidence.weigh(translated)
    widths = np.einsum("ij,ij->i", one, features), np.einsum("ij,ij->i", two, translated)
    assert widths[1] == pytest.approx(widths[0], rel=1e-3)


def test_widths_of_either_kind_are_taken_over():
    before = played(lambda: pairrank(3), lambda raw: raw)
    diagonal = pairrank(3, width="diagonal").take_over(before, matched(NAMES))
    assert diagonal.confidence.diagonal == pytest.approx(np.diag(before.confidence.matrix))
    full = pairrank(3).take_over(diagonal, matched(NAMES))
    assert full.confidence.matrix == pytest.approx(np.diag(diagonal.confidence.diagonal))


@pytest.mark.parametrize("make", [PDGD, DBGD, FairCo])
def test_other_rankers_keep_their_weights_by_name(make):
    before = played(lambda: make(3, length=4, seed=1), lambda raw: raw)
    changed = make(3, length=4, seed=2).take_over(before, matched(["b", "new", "a"], factors=np.array([2.0, 1.0, 4.0])))
    assert changed.weights == pytest.approx([before.weights[1] / 2, 0.0, before.weights[0] / 4])
    assert changed.weights.any()


def test_fairco_in_other_units_scores_the_same():
    before = played(lambda: FairCo(3, length=4, seed=1, regularization=1e-9), lambda raw: raw)
    factors = np.array([2.0, 0.1, 30.0])
    changed = FairCo(3, length=4, regularization=1e-9).take_over(before, matched(NAMES, factors=factors))
    features = np.random.default_rng(4).random((5, 3))
    rows, targets = np.random.default_rng(5).random((4, 3)), np.ones(4)
    for _ in range(2):  # also after more rows, which both learn the same from
        assert changed.score(features * factors) == pytest.approx(before.score(features), rel=1e-5)
        assert changed.merits() == pytest.approx(before.merits(), rel=1e-5)
        before._relevance.add(rows, targets)
        changed._relevance.add(rows * factors, targets)


def test_groups_keep_their_account_and_a_new_one_stands_where_its_share_says():
    before = FairExp(pairrank(3), tolerance=0.5, shares=(2.0, 1.0), seed=0)
    before.ledger.exposure = np.array([20.0, 10.1])
    after = FairExp(pairrank(3), tolerance=0.5, shares=(3.0, 1.0, 2.0), seed=0)
    after.take_over(before, matched(NAMES, groups=["new", "large", "small"]))
    assert after.ledger.exposure[1:].tolist() == [10.1, 20.0]
    assert after.ledger.exposure[0] == pytest.approx(30.1)
    assert after.ledger.largest_gap == pytest.approx(0.2)
    ranking = after.rank(Query(np.random.default_rng(1).random((12, 3)), groups=np.arange(12) % 3))
    assert ranking.qualified


@given(
    shares=st.lists(st.floats(0.1, 10), min_size=3, max_size=5),
    level=st.floats(0, 1e6),
    new=st.integers(0, 2),
)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_where_all_was_fair_all_stays_fair(shares, level, new):
    """A new group never brings a gap into a ledger that had none."""
    shares = np.array(shares)
    groups = np.array([NEW if number == new else number for number in range(len(shares))])
    ledger = Ledger(shares)
    ledger.exposure = taken_over(level * shares, groups, shares)
    assert ledger.largest_gap <= 1e-9 * max(level, 1.0) * shares.max() / shares.min()


def test_rankings_from_before_teach_after():
    """Feedback for a ranking that was shown before teaches what it would have taught, had the feature been there."""
    plain, twin = pairrank(3), pairrank(4)
    raw = np.random.default_rng(0).random((8, 3))
    first, second = plain.rank(Query(raw)), twin.rank(Query(np.insert(raw, 0, 0.0, axis=1)))
    assert first.shown.tolist() == second.shown.tolist()
    remap = matched(["new", *NAMES])
    changed = pairrank(4).take_over(plain, remap)
    changed.update(changed.translated(first, remap), [False, True, False, False])
    twin.update(second, [False, True, False, False])
    assert changed.model.theta == pytest.approx(twin.model.theta) and changed.model.theta.any()


def test_a_duel_from_before_is_decided_after():
    before = DBGD(3, length=4, seed=5)
    query = Query(np.random.default_rng(2).random((8, 3)))
    remap = matched(["c", "new", "a"])
    for _ in range(20):
        ranking = before.rank(query)
        credit = ranking.memory["credit"]
        changed = DBGD(3, length=4, seed=6).take_over(before, remap)
        changed.update(changed.translated(ranking, remap), credit == 1)
        (direction,) = ranking.memory["directions"]
        if changed.weights.any():
            assert changed.weights == pytest.approx(changed.learning_rate * np.array([direction[2], 0, direction[0]]))
            return
    pytest.fail("no duel was won")


def test_groups_of_a_ranking_from_before():
    remap = matched(NAMES, groups=["large", "small"])
    assert remap.group_numbers(np.array([0, 1, 1])).tolist() == [1, 0, 0]
    assert matched(NAMES, groups=["large", "new"]).group_numbers(np.array([0, 1])) is None


def test_what_cannot_be_taken_over_is_refused_and_changes_nothing():
    before = played(lambda: PDGD(3, length=4, seed=1), lambda raw: raw)
    fresh = pairrank(3)
    kept = fresh.state()
    with pytest.raises(StateError, match="PairRank cannot go on from what a PDGD has learned"):
        fresh.take_over(before, matched(NAMES))
    assert all(np.array_equal(value, fresh.state()[key]) for key, value in kept.items())
    with pytest.raises(ArgumentError, match="factors"):
        matched(NAMES, factors=np.array([1.0, 0.0, 1.0]))
