"""What would have been, had the host's draw been shown: against a count by hand, in every kind of account."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fairexp.fairness.ledger import Ledger
from fairexp.service.changes import next_version
from fairexp.service.engine.candidates import Candidates
from fairexp.service.engine.open_ranking import OpenRanking
from fairexp.service.engine.runtime import Runtime
from fairexp.service.log.feedback import Event, Feedback
from fairexp.service.log.shown import Shown
from fairexp.service.policies.spec import PolicySpec

ROUNDS = 60
PLAIN: dict[str, Any] = {"groups": {"small": 2.0, "large": 1.0}, "tolerance": 0.4}
LABELS = {"provider": ["small", "large"]}
KINDS = {
    "plain": PLAIN,
    "infinite": {**PLAIN, "tolerance": 1e9},
    "pdgd": {**PLAIN, "ranker": "fairexp-pdgd"},
    "window": {"constraints": [{"labels": LABELS, "window": 7, "tolerance": 0.5}]},
    "fading": {"constraints": [{"labels": LABELS, "half_life": 9, "tolerance": 0.5}]},
    "size": {"constraints": [{"labels": LABELS, "shares": "size", "tolerance": 0.5}]},
    "segment": {"constraints": [{"labels": LABELS, "per": "segment", "tolerance": 0.5}]},
    "two": {
        "constraints": [
            {"labels": LABELS, "tolerance": 0.5},
            {"labels": {"type": ["text", "video", "audio"]}, "tolerance": 1.0},
        ]
    },
}


def policy(kind: str) -> PolicySpec:
    return PolicySpec(features=3, length=5, seed=3, feedback={"events": {"click": 1.0, "viewed": 0.0}}, **KINDS[kind])


def asked(spec: PolicySpec, number: int) -> Candidates:
    """Candidates of unequal merit: those of the first group are worse by their first feature."""
    rng = np.random.default_rng(number)
    n = int(rng.integers(6, 14))
    groups, kinds = rng.integers(0, 2, n), rng.integers(0, 3, n)
    features = rng.random((n, 3)).astype(np.float32)
    features[:, 0] += groups
    labels = {name: of for name, of in (("provider", groups), ("type", kinds)) if name in spec.attributes}
    pinned = {1: 4} if number % 5 == 0 else {}
    own: dict[str, Any] = {"labels": labels, "pinned": pinned, "segment": f"s{number % 3}", "weight": 1.0 + number % 2}
    return Candidates([f"d{i}" for i in range(n)], None if labels else groups, features, **own)


def played(
    kind: str, *, measured: bool = False, runtime: Runtime | None = None
) -> tuple[Runtime, list[tuple[Shown, list[Feedback]]]]:
    spec = policy(kind)
    runtime = Runtime.new(spec)[0] if runtime is None else runtime
    log: list[tuple[Shown, list[Feedback]]] = []
    for number in range(ROUNDS):
        shown, _ = runtime.rank(asked(spec, number), at=float(number))
        best = int(np.argmax(shown.features[:, 0]))
        event, seen = Event(f"e{number}", "click", best, 1.0), 1 + number % 4
        opened = OpenRanking.of(shown)
        back = runtime.learn(opened, [event], at=float(number), final=True, seen=seen if measured else None)
        log.append((shown, [back]))
    return runtime, log


def copied(runtime: Runtime) -> Runtime:
    return Runtime.restored(runtime.spec, *runtime.state(), runtime.specs)


def same(one: Runtime, other: Runtime) -> bool:
    first, second = one.state()[1], other.state()[1]
    return first.keys() == second.keys() and all(first[key].tobytes() == second[key].tobytes() for key in first)


@pytest.mark.parametrize("kind", KINDS)
def test_a_replay_comes_to_the_same_bits_through_the_log_and_through_snapshots(kind: str) -> None:
    new, _ = Runtime.new(policy(kind))
    again = copied(new)
    runtime, log = played(kind, measured=True, runtime=new)
    for number, (shown, feedback) in enumerate(log):
        read = Shown.read(shown.payload(), seq=shown.seq, at=shown.at)
        again.show_again(read)
        for each in feedback:
            again.learn_again(read if number % 2 else read.trimmed(), each)
        if number % 20 == 7:
            again = copied(again)
    assert same(runtime, again)
    assert any(key.startswith("drawn.0.ledgers.") for key in runtime.state()[1])


@pytest.mark.parametrize("measured", [False, True])
def test_the_gap_is_what_one_counts_by_hand(measured: bool) -> None:
    runtime, log = played("plain", measured=measured)
    by_hand = np.zeros(2)
    for shown, (feedback,) in log:
        names = shown.considered.ids
        pins = set() if shown.pinned is None else set(np.array(shown.ids)[shown.pinned])
        free = iter(name for name in names if name not in pins)
        drawn = [name if name in pins else next(free) for name in shown.ids]
        charged = shown.exposure if feedback.measured is None else feedback.measured[1]
        for position, name in enumerate(drawn):
            by_hand[shown.considered.groups[names.index(name)]] += charged[position]
    assert runtime.totals.drawn_exposures[0] == pytest.approx(by_hand)
    own = runtime.account(0)
    expected = Ledger([2.0, 1.0], by_hand).largest_gap
    assert runtime.drawn.gap(0, own.shares) == pytest.approx(expected)
    assert expected > 20 * own.gap, "the better group would have had most of the attention"


def test_a_host_that_is_left_alone_has_what_it_would_have_had() -> None:
    runtime, _ = played("infinite", measured=True)
    assert runtime.totals.drawn_exposures[0].tobytes() == runtime.totals.exposures[0].tobytes()
    assert runtime.drawn.accounts[0].exposure.tobytes() == runtime.ranker.account().tobytes()
    assert runtime.totals.expected[0] == runtime.totals.expected[1] > 0.0


@pytest.mark.parametrize("kind", ["window", "fading", "size", "segment", "two"])
def test_every_kind_of_account_has_its_twin(kind: str) -> None:
    """It has the same ledgers of the same rounds, with the same attention in them, and a wider gap."""
    runtime, _ = played(kind)
    for own, twin in zip(runtime.ranker.accounts, runtime.drawn.accounts, strict=True):
        assert list(own.ledgers) == list(twin.ledgers) and own.born == twin.born
        assert [each.sum.rounds for each in own.ledgers.values()] == [each.sum.rounds for each in twin.ledgers.values()]
        totals = [sum(ledger.exposure.sum() for ledger in each.ledgers.values()) for each in (own, twin)]
        assert totals[0] == pytest.approx(totals[1]), "the same attention, to other groups"
    assert runtime.drawn.gap(0, runtime.account(0).shares) > 1.5 * runtime.account(0).gap


def test_a_change_of_the_policy_takes_it_over_and_a_reset_of_the_ledger_does_not() -> None:
    runtime, _ = played("plain")
    gap, rows = runtime.drawn.gap(0, np.array([2.0, 1.0])), runtime.totals.history()["drawn_gaps"]
    same_groups = next_version(runtime, runtime.spec.model_copy(update={"tolerance": 0.8})).runtime
    assert same_groups.drawn.gap(0, np.array([2.0, 1.0])) == pytest.approx(gap)
    assert same_groups.totals.history()["drawn_gaps"].tobytes() == rows.tobytes()
    anew = next_version(runtime, runtime.spec, drop=["ledger"]).runtime
    assert anew.drawn.gap(0, np.array([2.0, 1.0])) == 0.0 and not anew.totals.drawn_exposures[0].any()
    assert same(copied(same_groups), same_groups)


def test_other_rankers_have_no_draw_to_compare_with() -> None:
    spec = PolicySpec(features=3, length=5, seed=3, ranker="fairco", groups={"small": 1.0, "large": 1.0})
    runtime, _ = Runtime.new(spec)
    for number in range(5):
        runtime.rank(asked(spec, 5 * number + 1), at=float(number))
    assert runtime.drawn.gap(0, np.ones(2)) is None
    assert np.isnan(runtime.totals.history()["drawn_gaps"]).all()
    assert runtime.totals.expected == (0.0, 0.0)


def test_the_expected_cost_is_most_of_the_true_one_and_expected_clicks_are_right() -> None:
    """Users who look by the curve and click by a logistic model: sums over rounds against the true expectation.

    What is not looked at is not clicked either, which makes preferences look weaker than they are: the cost is more
    than what is expected.
    """
    rng = np.random.default_rng(8)
    weights, base = np.array([1.5, -1.0, 0.0]), -1.5
    spec = PolicySpec(features=3, length=5, seed=3, scaling="none", **PLAIN)
    runtime, _ = Runtime.new(spec)
    true = estimate = all_clicks = 0.0
    for number in range(1500):
        groups = np.random.default_rng(number).integers(0, 2, 14)
        features = rng.normal(size=(14, 3)).astype(np.float32)
        features[:, 0] += 0.6 * groups
        relevance = 1.0 / (1.0 + np.exp(-(features @ weights + base)))
        ids = [str(i) for i in range(14)]
        before = runtime.totals.expected
        shown, _ = runtime.rank(Candidates(ids, groups, features), at=float(number))
        curve = runtime.curve[:5]
        clicked = np.flatnonzero(rng.random(5) < curve * relevance[shown.shown])
        if len(clicked):
            events = [Event(f"{number}-{place}", "click", int(place), 1.0) for place in clicked]
            runtime.learn(OpenRanking.of(shown), events, at=float(number), final=True)
        if number < 500:
            continue  # it does not know the users yet
        after = runtime.totals.expected
        drawn = [int(shown.considered.ids[place]) for place in shown.drawn]
        true += curve @ (relevance[drawn] - relevance[shown.shown])
        estimate += (after[1] - before[1]) - (after[0] - before[0])
        all_clicks += curve @ relevance[shown.shown]
    assert true > 0.01 * all_clicks, "fairness costs something here"
    assert 0.4 * true < estimate < true
    assert runtime.totals.expected[0] == pytest.approx(runtime.totals.clicks, rel=0.1)
