"""What runs are measured by: each measure is declared once, prints as itself, and is read back from what it prints.

Records hold measures by their printed names; tables, charts and claims take heading, digits and direction from here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from fairexp.errors import ArgumentError

MISSING = "-"
ZERO, SKIP = "zero", "skip"
IRRELEVANT = {
    ZERO: "queries without a relevant document count as 0",
    SKIP: "queries without a relevant document are left out",
}
"""What NDCG does with queries for which no order is better than another: one rule for online and held-out NDCG.

The first is the default: which queries count then depends on the collection and not on its labels, and what is online
and what is held out lie on one scale. Every table and chart says which rule it was made by.
"""
LONGEST = 4
"""Digits of a number before it loses some of those after the point: 0.123, 99.99 and 12,346 read alike."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A quantity by name, with what people must know to read it; `cutoff` is how many positions count.

    `better` says which way is better: "higher", "lower", or "" where neither is. `digits` follow the point. Measures
    over orders of magnitude, and never 0, are compared `by_ratio`, others by difference; a `share` is shown in percent.
    What is `held_out` is measured on queries that were not served.

    >>> print(MAX_UF, NDCG @ 5)
    max UF nDCG@5
    >>> parse_measure("nDCG@5") == NDCG @ 5
    True
    """

    label: str
    heading: str
    definition: str
    better: str = ""
    digits: int = 2
    cutoff: int | None = None
    by_ratio: bool = False
    share: bool = False
    source: str = ""
    """Who defined it, where it is not ours."""
    held_out: bool = False

    @property
    def name(self) -> str:
        """What it prints as, and what records call it."""
        return self.label if self.cutoff is None else f"{self.label}@{self.cutoff}"

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<{self.name}>"

    def __matmul__(self, cutoff: int) -> Measure:
        """The same measure over another number of positions: `NDCG @ 5`."""
        if self.cutoff is None:
            raise ArgumentError("measure", f"{self.label}@{cutoff}", f"{self.label}, which has no positions to count")
        if isinstance(cutoff, bool) or not isinstance(cutoff, int) or cutoff < 1:
            raise ArgumentError("measure", f"{self.label}@{cutoff}", "a whole number of at least 1 after @")
        return replace(self, cutoff=cutoff)

    def text(self, value: float | None, half_width: float | None = None) -> str:
        """A value for people, with half the width of its interval where there is one.

        >>> MEAN_UF.text(0.0567), MEAN_UF.text(12345.678), ONLINE_NDCG.text(912.34, 12.04), MEAN_UF.text(None)
        ('0.057', '12,346', '912.3 ± 12.0', '-')
        """
        if value is None:
            return MISSING
        if self.share:
            return share_text(value) + ("" if half_width is None else f" ± {100 * half_width:.1f}")
        before = len(str(int(abs(value)))) if abs(value) >= 1 else 0
        digits = max(min(self.digits, LONGEST - before), 0)
        return f"{value:,.{digits}f}" + ("" if half_width is None else f" ± {half_width:,.{digits}f}")


def share_text(value: float) -> str:
    """A share in percent, rounded down: 100% means every single round.

    >>> share_text(1.0), share_text(0.9999)
    ('100%', '99.9%')
    """
    return "100%" if value == 1 else f"{math.floor(value * 1000) / 10:.1f}%"


def check_irrelevant(rule: str) -> str:
    """`rule` if it is one of `IRRELEVANT`, or an `ArgumentError`."""
    if not isinstance(rule, str) or rule not in IRRELEVANT:
        raise ArgumentError(
            "irrelevant", repr(rule), " or ".join(f"{name} ({text})" for name, text in IRRELEVANT.items())
        )
    return rule


NDCG = Measure(
    "nDCG", "NDCG", "How well the list that was shown in a round puts relevant documents on top.", "higher", 4, 10
)
ONLINE_NDCG = Measure(
    "online nDCG",
    "Online NDCG",
    "NDCG of what users were shown, summed over rounds, each discounted by 0.9995 to the one before.",
    "higher",
    1,
    10,
)
MEAN_ONLINE_NDCG = Measure(
    "mean online nDCG",
    "Mean online NDCG",
    "NDCG of what users were shown so far, as the mean with the same discounts.",
    "higher",
    4,
    10,
)
HELDOUT_NDCG = Measure(
    "held-out nDCG",
    "Held-out NDCG",
    "NDCG of what was learned, on queries that were never served.",
    "higher",
    4,
    10,
    held_out=True,
)
MEAN_HELDOUT_NDCG = Measure(
    "mean held-out nDCG",
    "Held-out NDCG, mean over rounds",
    "Held-out NDCG as its mean over all rounds: the faster a ranker learns, the higher.",
    "higher",
    4,
    10,
    held_out=True,
)
VALIDATION_NDCG = Measure(
    "validation nDCG",
    "Validation NDCG",
    "NDCG of what was learned after the last round, on the queries that parameters are chosen by.",
    "higher",
    4,
    10,
    held_out=True,
)
UF = Measure(
    "UF",
    "Unfairness",
    "The gap between the exposure that the groups were given and what they are owed, added up over all rounds so far.",
    "lower",
    3,
)
MAX_UF = replace(
    UF,
    label="max UF",
    heading="Largest unfairness",
    definition="The largest unfairness after any round so far.",
    by_ratio=True,
)
MEAN_UF = replace(
    UF,
    label="mean UF",
    heading="Mean unfairness",
    definition="Unfairness as its mean over all rounds.",
    by_ratio=True,
)
FINAL_UF = replace(UF, label="final UF", heading="Final unfairness", definition="Unfairness after the last round.")
LIST_UF = replace(
    UF,
    label="list UF",
    heading="Unfairness of each list",
    definition="The gap in exposure within a list by itself, whatever was shown before; the mean over rounds.",
)
IMPACT_UF = replace(
    UF,
    label="impact UF",
    heading="Unfairness in clicks",
    definition="The gap between the clicks that the groups got and what they are owed of them, after the last round.",
)
ITEM_UF = replace(
    UF,
    label="item UF",
    heading="Unfairness to items",
    definition="The part of a query's exposure so far that would have to move between documents of one grade for these "
    "to have had the same; the mean over rounds.",
    digits=4,
)
QUALIFIED = Measure(
    "qualified",
    "Qualified",
    "Whether the list is within the tolerance.",
    "higher",
    share=True,
)
QUALIFIED_SHARE = replace(
    QUALIFIED, label="qualified share", definition="The share of rounds in which the list is within the tolerance."
)
ADDED_REGRET = Measure(
    "added regret",
    "Added regret",
    "How many orders that the ranker was certain of, or expects to hold, were reversed for fairness in a round.",
    "lower",
)
MEAN_ADDED_REGRET = replace(
    ADDED_REGRET,
    label="mean added regret",
    definition="Orders that the ranker was certain of, or expects to hold, reversed for fairness per round.",
)
TOTAL_ADDED_REGRET = replace(
    ADDED_REGRET,
    label="total added regret",
    heading="Total added regret",
    definition="Added regret of all rounds so far.",
)
MISORDERED = Measure(
    "misordered pairs",
    "Misordered pairs",
    "Pairs of documents of which the less relevant one stands above; what is not shown stands below.",
    "lower",
)
MEAN_MISORDERED = replace(
    MISORDERED, label="mean misordered pairs", heading="Misordered pairs", definition="Misordered pairs per round."
)
SPEED = Measure("rounds/s", "Rounds a second", "Rounds in a second by the clock, measuring included.", "higher", 0)
ROUND_TIME = Measure("ms/round", "ms a round", "Milliseconds a round by the clock, measuring included.", "lower")

DIAZ = "Diaz, Mitra, Ekstrand, Biega and Carterette, CIKM 2020"
SINGH = "Singh and Joachims, KDD 2018"
EE_L = Measure(
    "EE-L",
    "Expected exposure loss",
    "||e - e*||^2 of a query: e is what its documents got on average, e* what equally relevant ones are owed alike.",
    "lower",
    4,
    source=DIAZ,
)
EE_D = Measure(
    "EE-D",
    "Expected exposure disparity",
    "||e||^2 of a query: how unequal the exposure of its documents is.",
    "lower",
    4,
    source=DIAZ,
)
EE_R = Measure(
    "EE-R",
    "Expected exposure relevance",
    "2 e.e* of a query: how much of the exposure is with documents that are owed it.",
    "higher",
    4,
    source=DIAZ,
)
AWRF = Measure(
    "AWRF",
    "Attention-weighted rank fairness",
    "1 - JS(a, s) of a list: a is how its attention is spread over groups, s how shares say it should be.",
    "higher",
    4,
    source="Sapiezynski, Zeng, Robertson, Mislove and Wilson, WWW companion 2019; TREC Fair Ranking 2021",
)
NDKL = Measure(
    "NDKL",
    "Discounted divergence of prefixes",
    "Mean over positions p, weighted by 1 / log2(p + 1), of KL(groups of the first p || shares) of a list.",
    "lower",
    4,
    source="Geyik, Ambler and Kenthapadi, KDD 2019",
)
DTR = Measure(
    "DTR",
    "Disparate treatment ratio",
    "Largest ratio of two groups' exposure per merit, sum of exposure over sum of grades: 1 if they are equal.",
    "lower",
    by_ratio=True,
    source=SINGH,
)
DIR = Measure(
    "DIR",
    "Disparate impact ratio",
    "Largest ratio of two groups' impact per merit, sum of exposure * grade over sum of grades: 1 if they are equal.",
    "lower",
    by_ratio=True,
    source=SINGH,
)
MAX_MIN_SHARE = Measure(
    "max-min share",
    "Max-min share",
    "What the worst-off group has of its due: min over g of (E_g / E) / (w_g / w).",
    "higher",
    4,
    source="Xu, Chen, Xu, Shen, Zhang and Wen, WWW 2023",
)
GINI = Measure(
    "Gini",
    "Gini of exposure",
    "Gini coefficient of the exposure of a query's documents: 0 where all have as much.",
    "lower",
    4,
    source="Gini 1912; Do, Corbett-Davies, Atif and Usunier, NeurIPS 2021",
)
ITEM_DISPARITY = Measure(
    "item disparity",
    "Disparity per item",
    "Mean over pairs of a query's relevant documents of |e_i / grade_i - e_j / grade_j|.",
    "lower",
    4,
    source="Morik, Singh, Hong and Joachims, SIGIR 2020",
)
FIELD = (EE_L, EE_D, EE_R, AWRF, NDKL, DTR, DIR, MAX_MIN_SHARE, GINI, ITEM_DISPARITY)
"""Fairness as others in the field measure it: of a run where asked for."""

MEASURES = (
    NDCG,
    ONLINE_NDCG,
    MEAN_ONLINE_NDCG,
    HELDOUT_NDCG,
    MEAN_HELDOUT_NDCG,
    VALIDATION_NDCG,
    UF,
    MAX_UF,
    MEAN_UF,
    FINAL_UF,
    LIST_UF,
    IMPACT_UF,
    ITEM_UF,
    QUALIFIED,
    QUALIFIED_SHARE,
    ADDED_REGRET,
    MEAN_ADDED_REGRET,
    TOTAL_ADDED_REGRET,
    MISORDERED,
    MEAN_MISORDERED,
    SPEED,
    ROUND_TIME,
    *FIELD,
)
"""Every measure, those over positions at their usual cutoff."""
_BY_LABEL = {measure.label: measure for measure in MEASURES}


def parse_measure(text: str) -> Measure:
    """The measure that prints as `text`.

    >>> parse_measure("max UF"), parse_measure("held-out nDCG@10").heading
    (<max UF>, 'Held-out NDCG')
    """
    if not isinstance(text, str):
        raise ArgumentError("measure", repr(text), "the name of a measure, such as 'max UF'")
    label, at, cutoff = text.partition("@")
    found = _BY_LABEL.get(label)
    if found is None or (found.cutoff is None) == bool(at) or not (cutoff.isdecimal() or not at):
        known = ", ".join(measure.name for measure in MEASURES)
        raise ArgumentError("measure", repr(text), f"one of {known}, where @ may be followed by another number")
    return found @ int(cutoff) if at else found
