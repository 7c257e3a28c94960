"""The words of an explanation agree with each other and with its numbers, whatever was ranked."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from fairexp.service.engine.candidates import Candidates
from fairexp.service.engine.open_ranking import OpenRanking
from fairexp.service.engine.runtime import Runtime
from fairexp.service.log.feedback import Event
from fairexp.service.policies.spec import PolicySpec
from fairexp.service.views.explain import explain

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
