"""The paper's findings as statements that measurements can support or contradict, setting by setting."""

from __future__ import annotations

from fairexp.experiments.claims.evidence import (
    CONTROLLER,
    FAIR,
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
from fairexp.experiments.claims.judgement import Claim, Finding, judge
from fairexp.experiments.claims.results import Results


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
        "PairRank has the best online NDCG of all rankers",
        "online NDCG",
        "PairRank less each other ranker, pair by pair; all differences must be above 0",
        others(HOST, "online_ndcg"),
    ),
    Claim(
        "fairness-costs-online",
        "FairExp-PairRank's online NDCG is below PairRank's",
        "online NDCG",
        "PairRank less FairExp-PairRank must be above 0",
        more(HOST, [FAIR], "online_ndcg"),
    ),
    Claim(
        "fairexp-above-fairco",
        "FairExp-PairRank's online NDCG is above FairCo's",
        "online NDCG",
        "FairExp-PairRank less FairCo must be above 0",
        more(FAIR, [CONTROLLER], "online_ndcg"),
    ),
    Claim(
        "fairexp-above-unconstrained",
        "FairExp-PairRank's online NDCG is above that of PDGD and DBGD, which no fairness constrains",
        "online NDCG",
        "FairExp-PairRank less PDGD and less DBGD must both be above 0",
        more(FAIR, ["pdgd", RANDOM], "online_ndcg"),
    ),
    Claim(
        "fairco-worst-online",
        "FairCo has the lowest online NDCG of all rankers",
        "online NDCG",
        "each other ranker less FairCo; all differences must be above 0",
        others(CONTROLLER, "online_ndcg", lowest=True),
    ),
    Claim(
        "fairexp-lowest-unfairness",
        "FairExp-PairRank has the lowest unfairness of all rankers (times lower than the next)",
        "mean unfairness",
        "each other ranker over FairExp-PairRank; all ratios must be above 1",
        others(FAIR, "mean_unfairness", ratio=True, lowest=True),
    ),
    Claim(
        "fairco-less-fair",
        "FairCo's unfairness is above FairExp-PairRank's",
        "mean unfairness",
        "FairCo over FairExp-PairRank must be above 1",
        more(CONTROLLER, [FAIR], "mean_unfairness", ratio=True),
    ),
    Claim(
        "fairness-slows-learning",
        "FairExp-PairRank learns more slowly than PairRank",
        "held-out NDCG, mean over rounds",
        "PairRank less FairExp-PairRank must be above 0",
        more(HOST, [FAIR], "mean_heldout_ndcg"),
    ),
    Claim(
        "unbalanced-groups-slow-more",
        "Fairness slows learning more where groups are less balanced in size",
        "held-out NDCG, mean over rounds",
        "PairRank less FairExp-PairRank, with the grouping whose larger group is larger, less the same "
        "with the other, must be above 0",
        learning_gap,
        where="groupings",
    ),
    Claim(
        "random-exploration-is-not-fair",
        "DBGD's random exploration is not fair: its unfairness ends above the tolerance",
        "final unfairness over the tolerance",
        "DBGD's unfairness after the last round over FairExp's tolerance must be above 1",
        not_fair,
    ),
    Claim(
        "faster-learners-less-fair",
        "Among PairRank, PDGD and DBGD, the faster a ranker learns the more unfair it is",
        "final unfairness",
        "for every two of the three: that one learns faster, and that it is the less fair one, must both"
        " be significant",
        faster_is_less_fair,
    ),
    Claim(
        "smaller-tolerance-fairer",
        "The smallest tolerance gives less unfairness than the largest",
        "mean unfairness",
        "largest tolerance of the sweep over the smallest must be above 1",
        tolerances("mean_unfairness", ratio=True),
    ),
    Claim(
        "smaller-tolerance-costs-online",
        "The smallest tolerance gives lower online NDCG than the largest",
        "online NDCG",
        "largest tolerance of the sweep less the smallest must be above 0",
        tolerances("online_ndcg"),
    ),
    Claim(
        "smaller-tolerance-slows-learning",
        "The smallest tolerance gives lower held-out NDCG than the largest",
        "held-out NDCG, mean over rounds",
        "largest tolerance of the sweep less the smallest must be above 0",
        tolerances("mean_heldout_ndcg"),
    ),
    Claim(
        "paper-tolerances-fairer",
        "A tolerance of 0.05 gives less unfairness than one of 0.1",
        "mean unfairness",
        "0.1 over 0.05 must be above 1",
        tolerances("mean_unfairness", ratio=True, paper=True),
    ),
    Claim(
        "paper-tolerances-online",
        "A tolerance of 0.05 gives lower online NDCG than one of 0.1",
        "online NDCG",
        "0.1 less 0.05 must be above 0",
        tolerances("online_ndcg", paper=True),
    ),
    Claim(
        "paper-tolerances-learning",
        "A tolerance of 0.05 gives lower held-out NDCG than one of 0.1",
        "held-out NDCG, mean over rounds",
        "0.1 less 0.05 must be above 0",
        tolerances("mean_heldout_ndcg", paper=True),
    ),
    Claim(
        "violations-constant",
        f"Violations of certain orders stay constant (within {SAME:g} times)",
        "added regret per round",
        "FairExp-PairRank's in the last third of the rounds over those in the middle third: an "
        "equivalence test for a ratio between 1/1.25 and 1.25, contradicted where the ratio is "
        "significantly outside",
        constant,
    ),
    Claim(
        "violations-depend-on-grouping",
        "Violations of certain orders depend on the grouping of the same data",
        "added regret per round",
        "FairExp-PairRank's with one grouping less those with the other must differ from 0; can be "
        "supported or undecided only",
        grouping_matters,
        where="groupings",
    ),
    Claim(
        "beyond-only-where-unavoidable",
        "Unfairness exceeds the tolerance exactly in rounds with no qualified template",
        "rounds",
        "counted, not tested: rounds of FairExp-PairRank beyond the tolerance although a template "
        "qualified, or within it although none did; a single one contradicts",
        exactly,
    ),
)
"""In the order of the paper."""
