"""Several constraints at once, each with groups, shares, a tolerance and ledgers of its own."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairexp import Constraint, FairExp, PairRank, Query, RandomRanker
from fairexp.errors import ArgumentError
from fairexp.fairness.search import AIM
from fairexp.registry import construct, ranker_names
from fairexp.remap import Remap

BOTH = (Constraint(0.3), Constraint(0.4, by="type", shares=[2.0, 1.0]))


def make(constraints=BOTH, *, length=6, host=None, **options):
    return FairExp(host or PairRank(3, length=length, alpha=0.05), constraints=constraints, seed=5, **options)


def serve(ranker, *, rounds, seed=0, n=12, **fields):
    """Random queries with groups and types, and clicks on the better half."""
    rng = np.random.default_rng(seed)
    for number in range(rounds):
        made = {key: of(number) for key, of in fields.items()}
        labels = {"type": rng.integers(0, 2, n)}
        ranking = ranker.rank(Query(rng.random((n, 3)), rng.integers(0, 2, n), labels=labels, **made))
        ranker.update(ranking, ranking.features[:, 0] > 0.5)
        yield ranking


def gap_of(ranking, labels, shares, before, weight=1.0):
    amounts = np.bincount(labels, weights=weight * (1 / np.arange(1, len(labels) + 1)), minlength=2)
    after = before + amounts
    return after, abs(after[0] - shares[0] / shares[1] * after[1])


def test_both_constraints_are_met_at_every_round_and_counted_by_hand():
    ranker = make()
    groups, types = np.zeros(2), np.zeros(2)
    for ranking in serve(ranker, rounds=200):
        groups, gap = gap_of(ranking, ranking.groups, (1, 1), groups)
        types, other = gap_of(ranking, ranking.labels["type"], (2, 1), types)
        assert ranking.gaps == pytest.approx({"groups": gap, "type": other})
        assert ranking.met == {"groups": gap <= 0.3 + 1e-9, "type": other <= 0.4 + 1e-9}
        assert ranking.qualified == all(ranking.met.values())
    assert ranking.qualified
    assert ranker.accounts[1].ledger.exposure == pytest.approx(types)


def test_an_intersection_is_a_group_for_each_combination():
    crossed = Constraint(0.9, by=("groups", "type"), n_groups=(2, 2))
    ranker = make([crossed])
    n_met = 0
    for ranking in serve(ranker, rounds=100, n=24):
        exposure = ranker.ledger.exposure
        assert ranking.met == {"groups x type": exposure.max() - exposure.min() <= 0.9 + 1e-9}
        n_met += ranking.qualified
    assert n_met > 90
    assert crossed.groups_of(Query(np.zeros((2, 1)), [1, 0], labels={"type": [0, 1]})).tolist() == [2, 1]


def test_what_cannot_be_met_gives_way_by_priority():
    """All of group 0 are of type 0: equal groups and types 3 to 1 contradict each other."""
    features, groups = np.eye(8), np.array([0, 0, 0, 0, 1, 1, 1, 1])
    by_group, by_type = Constraint(1.0), Constraint(1.0, by="type", shares=[3.0, 1.0])
    for constraints in ((by_group, by_type), (by_type, by_group)):
        ranker = make(constraints, host=RandomRanker(8, length=6))
        for _ in range(40):
            ranking = ranker.rank(Query(features, groups, labels={"type": groups}))
        first, second = (each.name for each in constraints)
        assert ranker.accounts[0].ledger.largest_gap < ranker.accounts[1].ledger.largest_gap
        assert not ranking.met[second]
        assert ranking.gaps[first] < ranking.gaps[second]


@pytest.mark.parametrize("per", ["query", "segment"])
def test_a_ledger_per_query_or_segment_is_a_ranker_of_its_own(per):
    constraint = Constraint(0.5, per=per, max_ledgers=3)
    ranker = make([constraint], host=RandomRanker(3, length=4))
    field = "query_id" if per == "query" else "segment"
    spent = {key: np.zeros(2) for key in "abc"}
    for number, ranking in enumerate(serve(ranker, rounds=90, **{field: lambda number: "abc"[number % 3]})):
        key = "abc"[number % 3]
        spent[key], gap = gap_of(ranking, ranking.groups, (1, 1), spent[key])
        assert ranker.ledger.exposure == pytest.approx(spent[key])
        assert ranking.gaps["groups"] == pytest.approx(gap)
    assert ranker.account() == pytest.approx(sum(spent.values()))
    copy = make([constraint], host=RandomRanker(3, length=4)).restore(ranker.state())
    assert list(copy.accounts[0].ledgers) == list("abc")
    list(serve(ranker, rounds=1, **{field: lambda number: "d"}))
    assert list(ranker.accounts[0].ledgers) == ["b", "c", "d"]
    with pytest.raises(ArgumentError, match=field):
        ranker.rank(Query(np.zeros((3, 3)), [0, 1, 1], labels={"type": [0, 0, 1]}))


@pytest.mark.parametrize("kept", [{"window": 7}, {"half_life": 4.0}])
def test_what_is_long_ago_counts_less(kept):
    ranker = make([Constraint(0.4, **kept)])
    rounds = []
    for ranking in serve(ranker, rounds=60):
        rounds.append(np.bincount(ranking.groups, weights=ranking.exposure, minlength=2))
        ages = np.arange(len(rounds))[::-1]
        weights = ages < kept["window"] if "window" in kept else 0.5 ** (ages / kept["half_life"])
        expected = weights @ np.array(rounds)
        assert ranker.ledger.exposure == pytest.approx(expected)
        assert ranking.unfairness == pytest.approx(expected[0] - expected[1])
        assert ranking.qualified == (abs(expected[0] - expected[1]) <= 0.4 + 1e-9)
    assert ranking.qualified


def test_late_measurements_count_by_the_age_of_their_round():
    ranker = make([Constraint(0.4, half_life=2.0)])
    rankings = list(serve(ranker, rounds=5))
    before = ranker.ledger.exposure.copy()
    ranker.update(rankings[1], np.zeros(6, dtype=bool), measured=np.zeros(6))
    lost = np.bincount(rankings[1].groups, weights=rankings[1].exposure, minlength=2) * 0.5 ** (3 / 2)
    assert ranker.ledger.exposure == pytest.approx(before - lost)


def test_a_weight_makes_a_round_count_for_more():
    ranker = make(BOTH)
    total = np.zeros(2)
    for number, ranking in enumerate(serve(ranker, rounds=80, weight=lambda number: 1.0 + number % 3)):
        weight = 1.0 + number % 3
        assert ranking.exposure == pytest.approx(weight / np.arange(1, 7))
        total, gap = gap_of(ranking, ranking.groups, (1, 1), total, weight)
        assert ranking.gaps["groups"] == pytest.approx(gap)
        assert ranker.ledger.exposure == pytest.approx(total)
        assert ranking.met["groups"] == (gap <= 0.3 + 1e-9)


@given(seed=st.integers(0, 2**32 - 1), several=st.booleans(), n_pins=st.integers(0, 4))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_pinned_documents_stay_and_the_rest_is_the_best_around_them(seed, several, n_pins):
    """Against every ranking that keeps the pins, the draw's order inside a class, and the tolerances if it can."""
    rng = np.random.default_rng(seed)
    n, length = 6, 4
    host = PairRank(2, length=length)
    host.model.theta = np.array([4.0, 0.0])
    constraints = BOTH if several else BOTH[:1]
    ranker = make(constraints, host=host, length=length)
    for account in ranker.accounts:
        account.ledger.exposure = rng.random(2)
    groups, types = rng.integers(0, 2, n), rng.integers(0, 2, n)
    pins = dict(zip(rng.permutation(length)[:n_pins].tolist(), rng.permutation(n)[:n_pins].tolist(), strict=True))
    query = Query(rng.random((n, 2)), groups, labels={"type": types}, pinned=pins)
    spent = [account.ledger.exposure.copy() for account in ranker.accounts]
    ranking = ranker.rank(query)
    shown = ranking.shown.tolist()
    assert {position: shown[position] for position in pins} == pins
    assert np.flatnonzero(ranking.pinned).tolist() == sorted(pins) if pins else ranking.pinned is None
    belief = ranking.belief
    place = np.argsort(belief.draw)
    by_row, row = belief.costs
    costs = by_row[np.ix_(row, row)].astype(int) * (place[:, None] < place[None, :])
    pinned = set(pins.values())
    labels = [groups, types][: len(constraints)]

    def worth(list_):
        gaps = [
            gap_of(None, label[list(list_)], each.owed, before)[1]
            for label, each, before in zip(labels, constraints, spent, strict=True)
        ]
        over = tuple(round(max(gap - each.tolerance, 0.0), 9) for gap, each in zip(gaps, constraints, strict=True))
        regret = 0
        for at, document in enumerate(list_):
            later = [e for e in range(n) if e not in list_[: at + 1]]
            regret += sum(int(costs[e, document]) for e in later if not {e, document} & pinned)
        return over, regret

    def fits(list_):
        free = [d for d in list_ if d not in pinned]
        classes = {d: tuple(int(label[d]) for label in labels) for d in range(n)}
        waiting = [int(d) for d in belief.draw if d not in pinned]
        for document in free:
            if next(d for d in waiting if classes[d] == classes[document]) != document:
                return False
            waiting.remove(document)
        return all(list_[position] == document for position, document in pins.items())

    best = min(worth(list_) for list_ in permutations(range(n), length) if fits(list_))
    assert worth(tuple(shown)) == best
    assert ranking.added_regret == belief.in_orders(best[1])


@pytest.mark.parametrize("name", [name for name in ranker_names() if name.startswith("fairexp-")])
def test_every_host_serves_several_constraints_and_pins(name):
    rng = np.random.default_rng(0)
    known = {
        "n_features": 3,
        "length": 5,
        "horizon": 100,
        "constraints": BOTH,
        "weights": np.ones(3),
        "grades": {0: np.arange(12) % 5},
    }
    ranker, ids, spent = construct(name, {}, known=known), np.arange(12), np.zeros((2, 2))
    for number in range(30):
        features, groups, types = rng.random((12, 3)), ids % 2, ids // 2 % 2
        pins = {1: int(rng.integers(12))} if number % 2 else {}
        query = Query(features, groups, query_id=0, document_ids=ids, labels={"type": types}, pinned=pins)
        ranking = ranker.rank(query)
        assert len(set(ranking.shown)) == 5 and all(ranking.shown[at] == of for at, of in pins.items())
        spent[0], gap = gap_of(ranking, ranking.groups, (1, 1), spent[0])
        spent[1], other = gap_of(ranking, types[ranking.shown], (2, 1), spent[1])
        assert ranking.gaps == pytest.approx({"groups": gap, "type": other})
        assert ranking.met == {"groups": gap <= 0.3 + 1e-9, "type": other <= 0.4 + 1e-9}
        ranker.update(ranking, rng.random(5) < 0.4)
    copy = construct(name, {}, known=known).restore(ranker.state())
    assert np.array_equal(copy.rank(query).shown, ranker.rank(query).shown)


def test_clicks_on_pinned_documents_teach_nothing():
    rng = np.random.default_rng(0)
    features, groups = rng.random((8, 3)), [0, 0, 0, 0, 1, 1, 1, 1]
    pinned, free = make(BOTH[:1]), make(BOTH[:1])
    for ranker in (pinned, free):
        ranking = ranker.rank(Query(features, groups, pinned={0: 7, 3: 1}))
        clicks = np.array([ranker is pinned, False, True, ranker is pinned, False, False])
        ranker.update(ranking, clicks)
    assert np.array_equal(pinned.score(features), free.score(features))
    assert not np.array_equal(pinned.score(features), np.zeros(8))


@pytest.mark.parametrize(
    ("pins", "message"),
    [({6: 0}, "positions below 6"), ({0: 12}, "below 8"), ({0: 1, 1: 1}, "different"), ({-1: 0}, "by position")],
)
def test_pins_that_cannot_be_kept_are_refused(pins, message):
    ranker = make(BOTH[:1])
    with pytest.raises(ArgumentError, match=message):
        ranker.rank(Query(np.zeros((8, 3)), [0] * 8, pinned=pins))
    with pytest.raises(ArgumentError, match="cannot keep to pins"):
        PairRank(3).rank(Query(np.zeros((8, 3)), pinned={0: 1}))


@pytest.mark.parametrize("fairness_budget", [0.0, 0.5])
@given(seed=st.integers(0, 2**32 - 1), several=st.booleans())
@settings(max_examples=80, deadline=None, derandomize=True)
def test_nobody_is_moved_below_the_draw_without_need(fairness_budget, seed, several):
    """Neighbours shown in the reverse of the draw's order: exchanging them would leave some constraint worse off.

    With fairness budget, worse off than the tenth of a tolerance that the round has come within.
    """
    rng = np.random.default_rng(seed)
    constraints = BOTH if several else BOTH[:1]
    ranker = make(constraints, length=5, fairness_budget=fairness_budget)
    for _ in range(10):
        before = [account.ledger.exposure.copy() for account in ranker.accounts]
        n = int(rng.integers(3, 14))
        query = Query(rng.random((n, 3)), rng.integers(0, 2, n), labels={"type": rng.integers(0, 2, n)})
        ranking = ranker.rank(query)
        ranker.update(ranking, rng.random(len(ranking)) < 0.3)
        place = np.argsort(ranking.belief.draw)
        for at in range(len(ranking) - 1):
            upper, lower = ranking.shown[at], ranking.shown[at + 1]
            if place[upper] < place[lower]:
                continue
            other = ranking.shown.copy()
            other[[at, at + 1]] = lower, upper
            labels = [query.groups, query.labels["type"]][: len(constraints)]
            gaps = [
                gap_of(None, label[other], each.owed, spent)[1]
                for label, each, spent in zip(labels, constraints, before, strict=True)
            ]
            aims = [AIM * each.tolerance for each in constraints]
            close = fairness_budget and all(
                ranking.gaps[each.name] <= aim for each, aim in zip(constraints, aims, strict=True)
            )
            wanted = aims if close else [each.tolerance for each in constraints]
            limits = [max(limit, ranking.gaps[each.name]) for each, limit in zip(constraints, wanted, strict=True)]
            assert any(gap > limit + 1e-9 for gap, limit in zip(gaps, limits, strict=True))


def test_a_copy_and_a_successor_go_on_with_every_account():
    constraints = (Constraint(0.3, window=5), Constraint(0.4, by="type", shares="merit", per="segment"))
    ranker = make(constraints)
    rankings = list(serve(ranker, rounds=20, segment=lambda number: "xy"[number % 2]))
    copy = make(constraints).restore(ranker.state())
    for each in (ranker, copy):
        each.update(rankings[-2], np.ones(6, dtype=bool), measured=np.ones(6))
    tails = [list(serve(each, rounds=10, seed=9, segment=lambda number: "x")) for each in (ranker, copy)]
    assert all(np.array_equal(a.shown, b.shown) for a, b in zip(*tails, strict=True))
    names = ["a", "b", "c"]
    remap = Remap.by_name([*names, "new"], before=names, groups=["g", "h"], groups_before=["g", "h"])
    after = make(constraints, host=PairRank(4, length=6)).take_over(ranker, remap)
    for old, new in zip(ranker.accounts, after.accounts, strict=True):
        assert new.exposure == pytest.approx(old.exposure)
        assert new.ledger.largest_gap == pytest.approx(old.ledger.largest_gap)
        assert new.shares.now() == pytest.approx(old.shares.now())
    clone = ranker.clone()
    assert [each.name for each in clone.constraints] == ["groups", "type"]
    assert clone.account().sum() == 0.0


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: make([Constraint(0.1), Constraint(0.2)]), "twice"),
        (lambda: make([]), "at least one"),
        (lambda: make(BOTH, tolerance=0.1), "None where there are"),
        (lambda: FairExp(PairRank(2)), "tolerance"),
        (lambda: Constraint(0.1, by=("groups", "type"), shares=[1, 1]), "2 axes"),
        (lambda: Constraint(0.1, shares="worth"), "one of 'merit', 'size'"),
        (lambda: Constraint(0.1, per="day"), "one of 'query', 'segment'"),
        (lambda: Constraint(0.1, n_groups=3, beta=2.0), "two groups"),
        (lambda: Constraint(-1), "at least 0"),
        (lambda: Constraint(1, window=3, half_life=2), "one of the two"),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_reason(build, message):
    with pytest.raises(ArgumentError, match=message):
        build()


def test_queries_without_the_labels_are_refused():
    ranker = make()
    with pytest.raises(ArgumentError, match=r"query.labels\['type'\]"):
        ranker.rank(Query(np.zeros((3, 3)), [0, 1, 1]))
    with pytest.raises(ArgumentError, match="below 2"):
        ranker.rank(Query(np.zeros((3, 3)), [0, 1, 1], labels={"type": [0, 1, 2]}))


@pytest.mark.parametrize("name", [name for name in ranker_names() if name.startswith("fairexp-")])
def test_labels_are_groups_under_another_name(name):
    """A host learns the same whether groups come as `groups` or as a label; also with pins, and with all shown."""
    given = {"weights": [1.0, 0.0]} if name.endswith("fixed") else {}
    given |= {"grades": {f"q{i}": np.arange(6) % 3 for i in range(2)}} if name.endswith("oracle") else {}
    known = {"n_features": 2, "length": 6, "seed": 3}
    plain = construct(name, given, known={**known, "tolerance": 0.9, "beta": 1.0})
    named = construct(name, given, known={**known, "constraints": [Constraint(0.9, by="type")]})
    rng = np.random.default_rng(0)
    for number in range(40):
        features, groups, query = rng.random((6, 2)), rng.integers(0, 2, 6), f"q{number % 2}"
        pinned = {1: 4} if number % 3 == 0 else {}
        fields = {"query_id": query, "document_ids": np.arange(6), "pinned": pinned}
        one = plain.rank(Query(features, groups, **fields))
        two = named.rank(Query(features, labels={"type": groups}, **fields))
        assert one.shown.tolist() == two.shown.tolist() and two.labels["type"].tolist() == groups[two.shown].tolist()
        clicks = one.features[:, 0] > 0.6
        plain.update(one, clicks)
        named.update(two, clicks)
    own = {"ranker", "identity", "stream"}
    first, second = plain.learner.state(), named.learner.state()
    assert all(np.array_equal(first[key], second[key]) for key in first.keys() - own)


@pytest.mark.parametrize("shares", [[1.0, 1.0], "merit"])
def test_a_ranking_whose_groups_are_gone_teaches_the_host_alone(shares):
    ranker = make([Constraint(0.5, shares=shares)])
    list(serve(ranker, rounds=3))
    before = ranker.rank(Query(np.eye(6)[:, :3], [0, 1] * 3))
    shares_before, weights = ranker.accounts[0].shares.state(), ranker.linear_model().copy()
    ranker.update(replace(before, groups=None), [False, True] * 3)
    after = ranker.accounts[0].shares.state()
    assert all(np.array_equal(shares_before[key], after[key]) for key in after)
    assert not np.array_equal(ranker.linear_model(), weights)
