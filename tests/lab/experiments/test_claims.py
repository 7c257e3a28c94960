from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from fairexp.lab.experiments.paper.findings import CLAIMS, judge_all, rules
from fairexp.lab.experiments.paper.judgement import (
    CONTRADICTED,
    SUPPORTED,
    UNDECIDED,
    Part,
    deciding,
    effect_text,
    verdict_on,
)
from fairexp.lab.experiments.paper.results import Results
from fairexp.lab.experiments.plan.spec import RankerSpec
from fairexp.measures import FINAL_UF, UF
from fairexp.statistics import effect, holm
from tests.lab.experiments.made_up import BASE, made_up

ENDS = ("random-exploration-is-not-fair", "faster-learners-less-fair")
"""Claims about the gap after the last round."""


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


def with_rankers(results: Results, rankers: dict[str, str], *, label: dict[str, str] | None = None) -> Results:
    """The results as those of an experiment with these rankers by label; `label` renames those that there are."""
    names = label or {}
    own = {names.get(old, old): spec for old, spec in results.experiment.rankers.items()}
    specs = {**own, **{new: RankerSpec(ranker=ranker) for new, ranker in rankers.items()}}
    sweep = results.experiment.sweep
    assert sweep is not None
    moved = sweep.model_copy(update={"ranker": names.get(sweep.ranker, sweep.ranker)})
    experiment = results.experiment.model_copy(update={"rankers": specs, "sweep": moved})
    main = [replace(run, ranker=names.get(run.ranker, run.ranker)) for run in results.main]
    swept = [(value, replace(run, ranker=names.get(run.ranker, run.ranker))) for value, run in results.sweep]
    return replace(results, experiment=experiment, main=main, sweep=swept)


def told(results: Results) -> list[tuple[Any, ...]]:
    return [(one.claim.id, one.place, one.verdict, one.p, one.part) for one in judge_all(results)]


def test_rankers_that_the_paper_does_not_speak_of_decide_nothing() -> None:
    results = made_up(8)
    better = [
        replace(run, ranker=name, result={**run.result, "online nDCG@10": 900.0, "mean UF": 1e-6})
        for run in results.main
        if run.ranker == "pairrank"
        for name in ("oracle", "mine")
    ]
    more = with_rankers(results, {"oracle": "oracle", "mine": "some_module:Mine"})
    assert told(replace(more, main=[*more.main, *better])) == told(results)


def test_a_ranker_by_another_label_keeps_its_claims() -> None:
    results = made_up(8)
    renamed = with_rankers(results, {}, label={"fairexp-pairrank": "ours", "pairrank": "host", "dbgd": "bandit"})
    assert told(renamed) == told(results)
    assert renamed.name("ours") == "ours" and results.name("fairexp-pairrank") == "FairExp-PairRank"


def test_a_label_is_not_what_a_ranker_is() -> None:
    """DBGD called pairrank: no claim is about PairRank any more, and tables do not call it so."""
    results = made_up(8)
    liar = with_rankers(results, {"pairrank": "dbgd"})
    assert liar.label_of("pairrank") is None and liar.name("pairrank") == "pairrank"
    assert "pairrank-best-online" not in {one.claim.id for one in judge_all(liar)}
    by_path = with_rankers(results, {"pairrank": "fairexp.rankers.pairrank.ranker:PairRank"})
    assert by_path.label_of("pairrank") == "pairrank" and told(by_path) == told(results)


def test_a_claim_that_needs_all_takes_the_largest_p_and_is_corrected_for_places_only() -> None:
    parts = [Part("a", effect([1.0, 1.2, 0.9, 1.1])), Part("b", effect([0.5, 1.9, 1.2, 0.2]))]
    assert deciding(parts) == (parts[1], parts[1].p)
    against = Part("c", effect([-1.0, -1.2, -0.9, -1.1]))
    part, p = deciding([*parts, against])
    assert part is against and p == pytest.approx(3 * against.p)  # type: ignore[operator]
    unknown = Part("d", effect([1.0]))
    assert deciding([*parts, unknown]) == (unknown, None)
    findings = [one for one in judge_all(made_up(8)) if one.claim.id == "pairrank-best-online"]
    raw = [deciding([part for part in one.claim.parts(made_up(8), one.place) if part])[1] for one in findings]
    assert [one.p for one in findings] == pytest.approx(holm(raw))


def test_the_chance_of_a_false_verdict_is_kept() -> None:
    """Two comparisons, one of them without any difference: the claim is false, and supported in 5% at most."""
    rng = np.random.default_rng(11)
    trials, supported = 2000, 0
    for _ in range(trials):
        part, p = deciding([Part("a", effect(rng.normal(5.0, 1.0, 5))), Part("b", effect(rng.normal(0.0, 1.0, 5)))])
        supported += verdict_on(part, p) == SUPPORTED
    assert supported / trials < 0.05 + 3 * (0.05 * 0.95 / trials) ** 0.5


def test_a_gap_that_ends_at_nothing_is_compared_by_difference() -> None:
    results = made_up(8, changes={"dbgd": {"mean UF": 0.0}})
    findings = [one for one in judge_all(results) if one.claim.id in ENDS]
    assert findings and {one.part.scale for one in findings} == {"difference"}
    assert all(abs(one.part.effect.mean) < 1e3 for one in findings)
    assert not FINAL_UF.by_ratio and not UF.by_ratio


ABOUT_EQUALS = {
    "pairrank-best-online",
    "fairness-costs-online",
    "fairexp-above-fairco",
    "fairexp-above-unconstrained",
    "fairco-worst-online",
    "fairexp-lowest-unfairness",
    "fairco-less-fair",
    "fairness-slows-learning",
    "unbalanced-groups-slow-more",
    "faster-learners-less-fair",
}
"""Claims that are neither true nor false of rankers that are all alike."""


@pytest.mark.parametrize("n_pairs", [3, 8])
def test_of_rankers_that_are_all_alike_chance_decides_as_rarely_as_the_level_says(n_pairs: int) -> None:
    alike, repetitions = dict.fromkeys(BASE, BASE["pairrank"]), 200
    verdicts: Counter[str] = Counter()
    for seed in range(repetitions):
        findings = judge_all(made_up(n_pairs, changes=alike, seed=seed))
        verdicts.update({one.claim.id for one in findings if one.verdict != UNDECIDED} & ABOUT_EQUALS)
        assert {one.claim.id for one in findings} >= ABOUT_EQUALS
    bound = stats.binom.isf(1e-4, repetitions, 0.05)
    assert all(n <= bound for n in verdicts.values()), verdicts
