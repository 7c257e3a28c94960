"""The words of an explanation agree with each other and with its numbers, whatever was ranked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fairexp.service.changes import ChangeRequest, Changes
from fairexp.service.engine.candidates import Candidates
from fairexp.service.engine.engine import Engine
from fairexp.service.engine.open_ranking import OpenRanking
from fairexp.service.engine.runtime import Runtime
from fairexp.service.log.feedback import Event
from fairexp.service.policies.spec import PolicySpec
from fairexp.service.views.explain import explain
from fairexp.service.views.reports import ranking_report
from tests.service.worlds import SPEC, matrix, play, rank
from tests.waiting import SECONDS

GROUPS = {"small": 1.0, "large": 1.0}
BLIND = "forms no certain orders"
ALONE = "came into question"
BLOCKS = "kept an order between"
SOME = "sure of some orders"
UNSURE = "not yet sure of any order"
OPENINGS = (BLIND, ALONE, BLOCKS, SOME, UNSURE)


def contradictions(lines: list[str], told: dict[str, Any]) -> list[str]:
    """What cannot be true of one ranking at the same time."""
    (opening,) = [each for each in OPENINGS if each in lines[0]]
    sure = any("The ranker was sure that" in line for line in lines)
    reversed_ = any("had to be reversed." in line and not line.startswith("No order") for line in lines)
    none_reversed = any(line.startswith("No order") for line in lines)
    expected = any("By what the ranker expects" in line for line in lines)
    moved = any(" moved up from " in line or "had to make room" in line for line in lines)
    as_it_came = any("shown as it came" in line for line in lines)
    fair_already = any("fair already" in line for line in lines)
    outside = any("outside the tolerance" in line for line in lines)
    named = sum(len(move["against_certain_orders"]) for move in told["moved"])
    rules = {
        "sure and not sure": (sure or reversed_) and opening in (BLIND, ALONE, UNSURE),
        "certain orders that nobody is sure of": bool(told["certain_orders"]) and opening in (BLIND, ALONE, UNSURE),
        "blocks": (opening == BLOCKS) != (len(told["blocks"]) > 1 and opening != BLIND),
        "parts of one candidate": ("order between all" in lines[0])
        != (opening == BLOCKS and all(len(block) == 1 for block in told["blocks"])),
        "a word that nobody explains": any("block" in line for line in lines),
        "reversed, and none was": reversed_ and none_reversed,
        "none was reversed, but one is named": none_reversed and sure,
        "one was reversed, but none is named": reversed_ and not sure,
        "the number that is named": named != told["added_regret"] and not expected and told["tolerance"] is not None,
        "expected and counted": expected and (reversed_ or none_reversed),
        "moved, and as it came": moved and as_it_came,
        "fair, and outside the tolerance": fair_already and outside,
        "orders of a ranker that forms none": (none_reversed or reversed_) and opening == BLIND,
    }
    return [rule for rule, broken in rules.items() if broken]


def rankings(ranker: str, *, tolerance: float, length: int, rounds: int, seed: int) -> Any:
    """Rankings of a policy that learns, of queries of many sizes; some of one group only."""
    ranker, _, certainty = ranker.partition(" ")
    parameters: dict[str, Any] = {"certainty": certainty} if certainty else {}
    if "fixed" in ranker:
        parameters["weights"] = [1.0, 0.0, 0.0]
    spec = PolicySpec(
        ranker=ranker, features=3, groups=GROUPS, length=length, tolerance=tolerance, seed=seed, parameters=parameters
    )
    runtime, _ = Runtime.new(spec)
    rng = np.random.default_rng(seed)
    for number in range(rounds):
        n = int(rng.integers(1, 12))
        groups = np.zeros(n, dtype=np.int64) if number % 7 == 0 else rng.integers(0, 2, n)
        features = rng.random((n, 3)).astype(np.float32)
        shown, _ = runtime.rank(Candidates([f"d{i}" for i in range(n)], groups, features), at=float(number))
        yield shown, spec
        best = int(np.argmax(shown.features[:, 0]))
        runtime.learn(OpenRanking.of(shown), [Event(f"e{number}", "click", best, 1.0)], at=float(number), final=True)


@pytest.mark.parametrize(
    "ranker",
    [
        "fairexp-pairrank",
        "fairexp-pairrank paper",
        "fairexp-fixed",
        "fairexp-random",
        "fairexp-pdgd",
        "pairrank",
        "pdgd",
        "fairco",
    ],
)
def test_no_two_sentences_contradict_each_other(ranker: str) -> None:
    openings: Counter[str] = Counter()
    for seed, (tolerance, length) in enumerate([(0.05, 5), (0.5, 3), (2.0, 1), (0.3, 10)]):
        for shown, spec in rankings(ranker, tolerance=tolerance, length=length, rounds=150, seed=seed):
            told = explain(shown, spec)
            assert contradictions(told["summary"], told) == [], told
            openings.update(each for each in OPENINGS if each in told["summary"][0])
    expected = {
        "fairexp-pairrank paper": {BLOCKS, SOME, UNSURE, ALONE},
        "fairexp-pairrank": {BLOCKS, UNSURE, ALONE},
        "pdgd": {BLIND},
        "fairexp-fixed": {BLOCKS, ALONE},
    }
    assert openings.keys() >= expected.get(ranker, set()), openings


@pytest.mark.parametrize("ranker", ["fairexp-pairrank", "pairrank", "pdgd", "fairco"])
def test_contributions_are_those_of_the_model_that_ranked(
    started: Callable[..., Engine], sqlite_address: str, ranker: str
) -> None:
    """They add up to the score, whatever was learned since, and stay when the model or the features go."""
    engine = started(sqlite_address, settings={"snapshot_every": 7})
    changes, spec = Changes(engine), SPEC.model_copy(update={"ranker": ranker})
    changes.put("shop", spec)
    ids = play(engine, 12)
    before = [contributions(engine, name) for name in ids]
    assert len({str(each) for each in before}) == len(ids), "the model has learned meanwhile"
    for name, told in zip(ids, before, strict=True):
        live, seq = engine.policy("shop"), engine.ids.read(name)[1]
        scores = engine.archive.ranking(live, seq)[0].scores
        if ranker != "fairco":  # whose scores have what groups are owed in them
            assert [sum(each.values()) for each in told] == pytest.approx(scores.tolist(), abs=1e-5)
    play(engine, 12, start=50)
    assert [contributions(engine, name) for name in ids] == before
    fewer = spec.model_copy(update={"features": ["price", "stars", "relevance"]})
    changes.put("shop", fewer, ChangeRequest(discard=True))
    changes.reset("shop", ["model"])
    assert [contributions(engine, name) for name in ids] == before


def contributions(engine: Engine, ranking_id: str) -> list[dict[str, float]]:
    """What each feature added to the score of each shown candidate."""
    live = engine.policy("shop")
    shown, feedback = engine.archive.ranking(live, engine.ids.read(ranking_id)[1])
    items = ranking_report(ranking_id, live, shown, feedback)["items"]
    return [{each["feature"]: each["contribution"] for each in item["contributions"]} for item in items]


def test_the_features_that_add_most_are_told_first(started: Callable[..., Engine], sqlite_address: str) -> None:
    """Of many features five are on record; of a ranker whose scores are no sum of them, none."""
    engine = started(sqlite_address)
    weights = [0.5, -3.0, 0.0, 2.0, 1.0, -0.1, 0.01]
    parameters = {"weights": weights}
    spec = PolicySpec(ranker="fairexp-fixed", features=7, groups=GROUPS, parameters=parameters, scaling="none")
    Changes(engine).put("shop", spec)
    features = matrix(0, 6, 7)
    asked = Candidates([f"d{i}" for i in range(6)], np.arange(6) % 2, features)
    ranked = engine.rank("shop", lambda runtime: asked)
    ranked.kept.result(SECONDS)
    for place, told in zip(ranked.shown.shown, contributions(engine, ranked.id), strict=True):
        parts = features[place] * weights
        largest = np.argsort(-np.abs(parts), kind="stable")[:5]
        assert list(told) == [f"{index + 1}" for index in largest]
        assert list(told.values()) == pytest.approx(parts[largest].tolist(), rel=1e-6)
    Changes(engine).put("blind", PolicySpec(ranker="random", features=3))
    shown = rank(engine, policy="blind").shown
    assert shown.contributions is None
