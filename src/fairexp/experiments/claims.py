"""The paper's findings as statements that measurements can support or contradict, setting by setting."""

from __future__ import annotations

from fairexp.experiments.evidence import (
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
from fairexp.experiments.findings import Claim, Finding, judge
from fairexp.experiments.results import Results


def judge_all(results: Results) -> list[Finding]:
    """Every claim in every place where it applies."""
    findings = []
    for claim in CLAIMS:
        places = results.settings if claim.where == "setting" else comparable_groupings(results)
        findings += judge(claim, results, places)
    return findings


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "pairrank-best-online",
        "PairRank has the best online NDCG of all rankers",
        "online NDCG",
        others(HOST, "online_ndcg"),
    ),
    Claim(
        "fairness-costs-online",
        "FairExp-PairRank's online NDCG is below PairRank's",
        "online NDCG",
        more(HOST, [FAIR], "online_ndcg"),
    ),
    Claim(
        "fairexp-above-fairco",
        "FairExp-PairRank's online NDCG is above FairCo's",
        "online NDCG",
        more(FAIR, [CONTROLLER], "online_ndcg"),
    ),
    Claim(
        "fairexp-above-unconstrained",
        "FairExp-PairRank's online NDCG is above that of PDGD and DBGD, which no fairness constrains",
        "online NDCG",
        more(FAIR, ["pdgd", RANDOM], "online_ndcg"),
    ),
    Claim(
        "fairco-worst-online",
        "FairCo has the lowest online NDCG of all rankers",
        "online NDCG",
        others(CONTROLLER, "online_ndcg", lowest=True),
    ),
    Claim(
        "fairexp-lowest-unfairness",
        "FairExp-PairRank has the lowest unfairness of all rankers (times lower than the next)",
        "mean unfairness",
        others(FAIR, "mean_unfairness", ratio=True, lowest=True),
    ),
    Claim(
        "fairco-less-fair",
        "FairCo's unfairness is above FairExp-PairRank's",
        "mean unfairness",
        more(CONTROLLER, [FAIR], "mean_unfairness", ratio=True),
    ),
    Claim(
        "fairness-slows-learning",
        "FairExp-PairRank learns more slowly than PairRank",
        "held-out NDCG, mean over rounds",
        more(HOST, [FAIR], "mean_heldout_ndcg"),
    ),
    Claim(
        "unbalanced-groups-slow-more",
        "Fairness slows learning more where groups are less balanced in size",
        "held-out NDCG, mean over rounds",
        learning_gap,
        where="groupings",
    ),
    Claim(
        "random-exploration-is-not-fair",
        "DBGD's random exploration is not fair: its unfairness ends above the tolerance",
        "final unfairness over the tolerance",
        not_fair,
    ),
    Claim(
        "faster-learners-less-fair",
        "Among PairRank, PDGD and DBGD, the faster a ranker learns the more unfair it is",
        "agreement of held-out NDCG with final unfairness",
        faster_is_less_fair,
    ),
    Claim(
        "smaller-tolerance-fairer",
        "The smallest tolerance gives less unfairness than the largest",
        "mean unfairness",
        tolerances("mean_unfairness", ratio=True),
    ),
    Claim(
        "smaller-tolerance-costs-online",
        "The smallest tolerance gives lower online NDCG than the largest",
        "online NDCG",
        tolerances("online_ndcg"),
    ),
    Claim(
        "smaller-tolerance-slows-learning",
        "The smallest tolerance gives lower held-out NDCG than the largest",
        "held-out NDCG, mean over rounds",
        tolerances("mean_heldout_ndcg"),
    ),
    Claim(
        "paper-tolerances-fairer",
        "A tolerance of 0.05 gives less unfairness than one of 0.1",
        "mean unfairness",
        tolerances("mean_unfairness", ratio=True, paper=True),
    ),
    Claim(
        "paper-tolerances-online",
        "A tolerance of 0.05 gives lower online NDCG than one of 0.1",
        "online NDCG",
        tolerances("online_ndcg", paper=True),
    ),
    Claim(
        "paper-tolerances-learning",
        "A tolerance of 0.05 gives lower held-out NDCG than one of 0.1",
        "held-out NDCG, mean over rounds",
        tolerances("mean_heldout_ndcg", paper=True),
    ),
    Claim(
        "violations-constant",
        f"Violations of certain orders stay constant (within {SAME:g} times)",
        "added regret per round",
        constant,
    ),
    Claim(
        "violations-depend-on-grouping",
        "Violations of certain orders depend on the grouping of the same data",
        "added regret per round",
        grouping_matters,
        where="groupings",
    ),
    Claim(
        "beyond-only-where-unavoidable",
        "Unfairness exceeds the tolerance exactly in rounds with no qualified template",
        "rounds",
        exactly,
    ),
)
"""In the order of the paper."""
