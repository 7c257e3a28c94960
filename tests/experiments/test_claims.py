from __future__ import annotations

from typing import Any

import pytest

from fairexp.experiments.claims import CLAIMS, judge_all
from fairexp.experiments.findings import CONTRADICTED, SUPPORTED, UNDECIDED, Part, effect_text, verdict_on
from fairexp.experiments.statistics import Effect
from tests.experiments.made_up import made_up


def verdicts(claim: str, **how: Any) -> set[str]:
    found = [one.verdict for one in judge_all(made_up(**how)) if one.claim.id == claim]
    assert found
    return set(found)


def test_where_the_paper_is_right_every_claim_but_what_was_not_built_in_is_supported() -> None:
    findings = judge_all(made_up(8))
    wrong = {one.claim.id for one in findings if one.verdict != SUPPORTED}
    assert wrong == {"unbalanced-groups-slow-more"}
    assert {claim.id for claim in CLAIMS} == {one.claim.id for one in findings}


@pytest.mark.parametrize(
    ("claim", "changes"),
    [
        ("pairrank-best-online", {"pdgd": {"online_ndcg": 120.0}}),
        ("fairness-costs-online", {"fairexp-pairrank": {"online_ndcg": 110.0}}),
        ("fairexp-above-fairco", {"fairco": {"online_ndcg": 95.0}}),
        ("fairexp-above-unconstrained", {"dbgd": {"online_ndcg": 95.0}}),
        ("fairco-worst-online", {"dbgd": {"online_ndcg": 40.0}}),
        ("fairexp-lowest-unfairness", {"pdgd": {"mean_unfairness": 0.01}}),
        ("fairco-less-fair", {"fairco": {"mean_unfairness": 0.01}}),
        ("fairness-slows-learning", {"fairexp-pairrank": {"mean_heldout_ndcg": 0.6}}),
        ("random-exploration-is-not-fair", {"dbgd": {"mean_unfairness": 0.001}}),
        ("faster-learners-less-fair", {"pairrank": {"mean_unfairness": 1.0}, "dbgd": {"mean_unfairness": 90.0}}),
    ],
)
def test_the_opposite_is_contradicted(claim: str, changes: dict[str, dict[str, float]]) -> None:
    n_pairs = 8  # equal taus need that many to be more than chance
    assert verdicts(claim, changes=changes, n_pairs=n_pairs) == {CONTRADICTED}


def test_one_pair_decides_nothing_but_what_is_exact() -> None:
    findings = judge_all(made_up(1))
    assert {one.claim.id for one in findings if one.verdict != UNDECIDED} == {"beyond-only-where-unavoidable"}


def test_small_differences_are_undecided() -> None:
    assert UNDECIDED in verdicts("fairness-costs-online", changes={"fairexp-pairrank": {"online_ndcg": 100.0}})


def test_growing_violations_are_not_constant() -> None:
    assert verdicts("violations-constant", slope=3.0) == {CONTRADICTED}


def test_a_single_round_against_it_contradicts_an_exact_claim() -> None:
    assert verdicts("beyond-only-where-unavoidable", wrong=1) == {CONTRADICTED}


def test_the_finding_names_the_rival_that_decides() -> None:
    results = made_up(changes={"pdgd": {"online_ndcg": 120.0}})
    finding = next(one for one in judge_all(results) if one.claim.id == "pairrank-best-online")
    assert finding.part.name == "against pdgd" and finding.part.effect.mean == pytest.approx(-20, abs=2)
    lowest = next(one for one in judge_all(made_up()) if one.claim.id == "fairexp-lowest-unfairness")
    assert lowest.part.name == "against fairco" and "times" in effect_text(lowest.part)


def test_bands() -> None:
    def part(low: float, high: float) -> Part:
        return Part("x", Effect((low + high) / 2, low, high, None, 5), band=0.2)

    assert verdict_on(part(-0.1, 0.1), None) == SUPPORTED
    assert verdict_on(part(-0.1, 0.3), None) == UNDECIDED
    assert verdict_on(part(0.3, 0.4), None) == CONTRADICTED
    assert verdict_on(Part("x", Effect(0.0, None, None, None, 1), band=0.2), None) == UNDECIDED
