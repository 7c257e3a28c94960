from __future__ import annotations

from typing import Any

import pytest

from fairexp.experiments.claims.judgement import CONTRADICTED, SUPPORTED, UNDECIDED, Part, effect_text, verdict_on
from fairexp.experiments.claims.paper import CLAIMS, judge_all, rules
from fairexp.statistics.intervals import effect
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
        ("pairrank-best-online", {"pdgd": {"online nDCG@10": 120.0}}),
        ("fairness-costs-online", {"fairexp-pairrank": {"online nDCG@10": 110.0}}),
        ("fairexp-above-fairco", {"fairco": {"online nDCG@10": 95.0}}),
        ("fairexp-above-unconstrained", {"dbgd": {"online nDCG@10": 95.0}}),
        ("fairco-worst-online", {"dbgd": {"online nDCG@10": 40.0}}),
        ("fairexp-lowest-unfairness", {"pdgd": {"mean UF": 0.01}}),
        ("fairco-less-fair", {"fairco": {"mean UF": 0.01}}),
        ("fairness-slows-learning", {"fairexp-pairrank": {"mean held-out nDCG@10": 0.6}}),
        ("random-exploration-is-not-fair", {"dbgd": {"mean UF": 0.001}}),
        ("faster-learners-less-fair", {"pairrank": {"mean UF": 1.0}, "dbgd": {"mean UF": 90.0}}),
    ],
)
def test_the_opposite_is_contradicted(claim: str, changes: dict[str, dict[str, float]]) -> None:
    n_pairs = 8  # equal taus need that many to be more than chance
    assert verdicts(claim, changes=changes, n_pairs=n_pairs) == {CONTRADICTED}


def test_one_pair_decides_nothing_but_what_is_exact() -> None:
    findings = judge_all(made_up(1))
    assert {one.claim.id for one in findings if one.verdict != UNDECIDED} == {"beyond-only-where-unavoidable"}


def test_small_differences_are_undecided() -> None:
    assert UNDECIDED in verdicts("fairness-costs-online", changes={"fairexp-pairrank": {"online nDCG@10": 100.0}})


def test_growing_violations_are_not_constant() -> None:
    assert verdicts("violations-constant", slope=3.0, n_pairs=8) == {CONTRADICTED}


def test_a_single_round_against_it_contradicts_an_exact_claim() -> None:
    assert verdicts("beyond-only-where-unavoidable", wrong=1) == {CONTRADICTED}


def test_the_finding_names_the_rival_that_decides() -> None:
    results = made_up(changes={"pdgd": {"online nDCG@10": 120.0}})
    finding = next(one for one in judge_all(results) if one.claim.id == "pairrank-best-online")
    assert finding.part.name == "against PDGD" and finding.part.effect.mean == pytest.approx(-20, abs=2)
    lowest = next(one for one in judge_all(made_up()) if one.claim.id == "fairexp-lowest-unfairness")
    assert lowest.part.name == "against FairCo" and "times" in effect_text(lowest.part)


@pytest.mark.parametrize(
    ("centre", "verdict"),
    [
        (0.0, SUPPORTED),
        (-0.15, SUPPORTED),
        (-0.18, UNDECIDED),
        (0.2, UNDECIDED),
        (0.3, CONTRADICTED),
        (-0.3, CONTRADICTED),
    ],
)
def test_bands(centre: float, verdict: str) -> None:
    part = Part("x", effect([centre - 0.04, centre - 0.02, centre, centre + 0.02, centre + 0.04]), band=0.2)
    low, high = part.effect.low, part.effect.high
    assert low is not None and high is not None
    wholly = (low > -0.2 and high < 0.2) or low > 0.2 or high < -0.2
    assert verdict_on(part, part.p) == verdict
    assert (verdict_on(part, part.p) != UNDECIDED) == wholly  # the same as asking the interval, but to be corrected
    assert verdict_on(Part("x", effect([centre]), band=0.2), None) == UNDECIDED


def test_two_things_that_must_both_be_sure_count_by_the_less_sure() -> None:
    sure = effect([1.0, 1.1, 0.9, 1.05])
    assert Part("x", sure, given=0.3).p == 0.3 and Part("x", sure, given=0.0).p == sure.p
    verdict = verdicts("faster-learners-less-fair", changes={"pdgd": {"mean held-out nDCG@10": 0.36}}, n_pairs=8)
    assert UNDECIDED in verdict  # PDGD and DBGD learn alike: which of them is faster is chance


def test_every_claim_says_how_it_is_decided() -> None:
    assert all(claim.rule and claim.measure for claim in CLAIMS)
    assert [row["claim"] for row in rules()] == [claim.id for claim in CLAIMS]
