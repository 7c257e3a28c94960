"""The paper's findings as statements that measurements can support or contradict, setting by setting."""

from __future__ import annotations

from fairexp.lab.experiments.paper.evidence import (
    CONTROLLER,
    FAIR,
    GRADIENT,
    HOST,
    RANDOM,
    SAME,
    comparable_groupings,
    constant,
    exactly,
    faster_is_less_fair,
    grouping_matters,
    learning_gap,
    more,
    not_fair,
    others,
    tolerances,
)
from fairexp.lab.experiments.paper.judgement import Claim, Finding, judge
from fairexp.lab.experiments.paper.results import Results
from fairexp.measures import FINAL_UF, MEAN_ADDED_REGRET, MEAN_HELDOUT_NDCG, MEAN_UF, ONLINE_NDCG


def judge_all(results: Results) -> list[Finding]:
    """Every claim in every place where it applies."""
    findings = []
    for claim in CLAIMS:
        places = results.settings if claim.where == "setting" else comparable_groupings(results)
        findings += judge(claim, results, places)
    return findings


def rules() -> list[dict[str, str]]:
    """What is claimed and how it is decided, as plain data: kept with the records before the first run."""
    return [
        {"claim": claim.id, "statement": claim.statement, "measure": claim.measure, "rule": claim.rule}
        for claim in CLAIMS
    ]


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "pairrank-best-online",
        "PairRank has the best online NDCG of the paper's rankers",
        ONLINE_NDCG.name,
        "PairRank less each other of the paper's five, pair by pair; all differences must be above 0",
        others(HOST, ONLINE_NDCG),
    ),
    Claim(
        "fairness-costs-online",
        "FairExp-PairRank's online NDCG is below PairRank's",
        ONLINE_NDCG.name,
        "PairRank less FairExp-PairRank must be above 0",
        more(HOST, [FAIR], ONLINE_NDCG),
    ),
    Claim(
        "fairexp-above-fairco",
        "FairExp-PairRank's online NDCG is above FairCo's",
        ONLINE_NDCG.name,
        "FairExp-PairRank less FairCo must be above 0",
        more(FAIR, [CONTROLLER], ONLINE_NDCG),
    ),
    Claim(
        "fairexp-above-unconstrained",
        "FairExp-PairRank's online NDCG is above that of PDGD and DBGD, which no fairness constrains",
        ONLINE_NDCG.name,
        "FairExp-PairRank less PDGD and less DBGD must both be above 0",
        more(FAIR, [GRADIENT, RANDOM], ONLINE_NDCG),
    ),
    Claim(
        "fairco-worst-online",
        "FairCo has the lowest online NDCG of the paper's rankers",
        ONLINE_NDCG.name,
        "each other of the paper's five less FairCo; all differences must be above 0",
        others(CONTROLLER, ONLINE_NDCG, lowest=True),
    ),
    Claim(
        "fairexp-lowest-unfairness",
        "FairExp-PairRank has the lowest unfairness of the paper's rankers (times lower than the next)",
        MEAN_UF.name,
        "each other of the paper's five over FairExp-PairRank; all ratios must be above 1",
        others(FAIR, MEAN_UF, lowest=True),
    ),
    Claim(
        "fairco-less-fair",
        "FairCo's unfairness is above FairExp-PairRank's",
        MEAN_UF.name,
        "FairCo over FairExp-PairRank must be above 1",
        more(CONTROLLER, [FAIR], MEAN_UF),
    ),
    Claim(
        "fairness-slows-learning",
        "FairExp-PairRank learns more slowly than PairRank",
        MEAN_HELDOUT_NDCG.name,
        "PairRank less FairExp-PairRank must be above 0",
        more(HOST, [FAIR], MEAN_HELDOUT_NDCG),
    ),
    Claim(
        "unbalanced-groups-slow-more",
        "Fairness slows learning more where groups are less balanced in size",
        MEAN_HELDOUT_NDCG.name,
        "PairRank less FairExp-PairRank, with the grouping whose larger group is larger, less the same "
        "with the other, must be above 0",
        learning_gap,
        where="groupings",
    ),
    Claim(
        "random-exploration-is-not-fair",
        "DBGD's random exploration is not fair: its unfairness ends above the tolerance",
        f"{FINAL_UF} less the tolerance",
        "DBGD's unfairness after the last round less FairExp's tolerance must be above 0",
        not_fair,
    ),
    Claim(
        "faster-learners-less-fair",
        "Among PairRank, PDGD and DBGD, the faster a ranker learns the more unfair it is",
        FINAL_UF.name,
        "for every two of the three: that one learns faster, and that it is the less fair one, must both"
        " be significant",
        faster_is_less_fair,
    ),
    Claim(
        "smaller-tolerance-fairer",
        "The smallest tolerance gives less unfairness than the largest",
        MEAN_UF.name,
        "largest tolerance of the sweep over the smallest must be above 1",
        tolerances(MEAN_UF),
    ),
    Claim(
        "smaller-tolerance-costs-online",
        "The smallest tolerance gives lower online NDCG than the largest",
        ONLINE_NDCG.name,
        "largest tolerance of the sweep less the smallest must be above 0",
        tolerances(ONLINE_NDCG),
    ),
    Claim(
        "smaller-tolerance-slows-learning",
        "The smallest tolerance gives lower held-out NDCG than the largest",
        MEAN_HELDOUT_NDCG.name,
        "largest tolerance of the sweep less the smallest must be above 0",
        tolerances(MEAN_HELDOUT_NDCG),
    ),
    Claim(
        "paper-tolerances-fairer",
        "A tolerance of 0.05 gives less unfairness than one of 0.1",
        MEAN_UF.name,
        "0.1 over 0.05 must be above 1",
        tolerances(MEAN_UF, paper=True),
    ),
    Claim(
        "paper-tolerances-online",
        "A tolerance of 0.05 gives lower online NDCG than one of 0.1",
        ONLINE_NDCG.name,
        "0.1 less 0.05 must be above 0",
        tolerances(ONLINE_NDCG, paper=True),
    ),
    Claim(
        "paper-tolerances-learning",
        "A tolerance of 0.05 gives lower held-out NDCG than one of 0.1",
        MEAN_HELDOUT_NDCG.name,
        "0.1 less 0.05 must be above 0",
        tolerances(MEAN_HELDOUT_NDCG, paper=True),
    ),
    Claim(
        "violations-constant",
        f"Violations of certain orders stay constant (within {SAME:g} times)",
        MEAN_ADDED_REGRET.name,
        "FairExp-PairRank's in the last third of the rounds over those in the middle third: an "
        "equivalence test for a ratio between 1/1.25 and 1.25, contradicted where the ratio is "
        "significantly outside",
        constant,
    ),
    Claim(
        "violations-depend-on-grouping",
        "Violations of certain orders depend on the grouping of the same data",
        MEAN_ADDED_REGRET.name,
        "FairExp-PairRank's with one grouping less those with the other must differ from 0; can be "
        "supported or undecided only",
        grouping_matters,
        where="groupings",
    ),
    Claim(
        "beyond-only-where-unavoidable",
        "Unfairness exceeds the tolerance exactly in rounds with no qualified template",
        "rounds",
        "counted, not tested: rounds of FairExp-PairRank beyond the tolerance without proof that no template "
        "qualifies, or within it although none does; a single one contradicts",
        exactly,
    ),
)
"""In the order of the paper."""
