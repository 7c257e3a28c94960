"""The claims in the report: how they are decided, a matrix of verdicts, and every judgement with its effect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fairexp.lab.experiments.paper.findings import CLAIMS, rules
from fairexp.lab.experiments.paper.groupings import groupings_at
from fairexp.lab.experiments.paper.judgement import CONTRADICTED, SUPPORTED, UNDECIDED, Claim, Finding, effect_text
from fairexp.lab.experiments.paper.results import Results
from fairexp.lab.experiments.report.tables import place_text

MARKS = {SUPPORTED: "✓", CONTRADICTED: "✗", UNDECIDED: "?"}
RULE = (
    "Rankers are compared run by run: the same queries, and the same coins of the users. A claim is judged among "
    "the rankers that the paper speaks of, whatever they are labelled here and whoever else takes part. The unit is"
    " the fold, whose value is the mean over its seeds. Where folds serve queries in common, as LETOR's do, the "
    "t-test and the intervals are corrected for that, and speak for other collections of this size from the same "
    "source, split the same way; where each fold is a world of its own, for other worlds of the kind; where a data "
    "set has one fold, the unit is the seed, and verdicts speak for that data alone. Each comparison is a two-sided"
    " paired t-test at 5%, of differences, or for mean unfairness of logarithms of ratios. A claim is supported (✓)"
    " where all its comparisons are significant in its favour: the largest of their p-values counts. It is "
    "contradicted (✗) where one is significant against it: the smallest p-value counts, times the number of "
    "comparisons. P-values are then corrected after Holm for all settings. All else is undecided (?). Intervals are"
    " 95% each, not corrected."
)
NEEDS = {"setting": "rankers or tolerances that are not part of it", "groupings": "two groupings of the same data"}


@dataclass(frozen=True)
class Cell:
    """A verdict in the matrix; `told` is what a pointer on it says."""

    verdict: str
    mark: str
    told: str


@dataclass(frozen=True)
class Matrix:
    """Verdicts by claim and place; `heads` name the places, and `synthetic` says whether one is marked as such."""

    heads: list[str]
    rows: list[tuple[str, list[Cell | None]]]
    synthetic: bool


@dataclass(frozen=True)
class Judged:
    """A judgement in the detailed table, as text."""

    verdict: str
    texts: tuple[str, ...]
    p: str
    units: str


@dataclass(frozen=True)
class ClaimsSection:
    """What claims.html shows: the rules, matrices to grasp at once, and every judgement with its effect."""

    rule: str
    written: str
    decided: Sequence[Claim]
    matrices: list[Matrix]
    not_judged: list[tuple[Claim, str]]
    contradicted: list[tuple[Claim, list[Judged]]]
    judged: list[tuple[Claim, list[Judged]]]


def claims_section(results: Results, findings: Sequence[Finding]) -> ClaimsSection:
    """The section's contents; a change of the rules since the first run is told."""
    kinds = ([one for one in findings if (one.claim.where == "setting") == wanted] for wanted in (True, False))
    known = {one.claim.id for one in findings}
    before = results.overview.get("rules")
    return ClaimsSection(
        rule=RULE,
        written="as written down before the first run" if before == rules() else "changed since the first run",
        decided=CLAIMS,
        matrices=[_matrix(results, own) for own in kinds if own],
        not_judged=[(claim, NEEDS[claim.where]) for claim in CLAIMS if claim.id not in known],
        contradicted=_judged(results, [one for one in findings if one.verdict == CONTRADICTED]),
        judged=_judged(results, findings),
    )


def _matrix(results: Results, findings: Sequence[Finding]) -> Matrix:
    places = list(dict.fromkeys(one.place for one in findings))
    claims: dict[str, Claim] = {one.claim.id: one.claim for one in findings}
    cells = {(one.claim.id, one.place): _cell(results, one) for one in findings}
    synthetic = {row["data"] for row in results.overview["folds"] if row["synthetic"]}
    marked = {place: _data_of(place) in synthetic for place in places}
    return Matrix(
        heads=[f"{place.replace('|', ' / ')}{'°' if marked[place] else ''}" for place in places],
        rows=[(claim.statement, [cells.get((claim.id, place)) for place in places]) for claim in claims.values()],
        synthetic=any(marked.values()),
    )


def _cell(results: Results, one: Finding) -> Cell:
    told = f"{place_text(results, one.place)}: {one.verdict}; {one.part.name}: {effect_text(one.part)}"
    return Cell(one.verdict, MARKS[one.verdict], told)


def _judged(results: Results, findings: Sequence[Finding]) -> list[tuple[Claim, list[Judged]]]:
    """Every judgement; those of one claim stand together."""
    rows: dict[Claim, list[Judged]] = {}
    for one in findings:
        texts = (place_text(results, one.place), one.verdict, effect_text(one.part), one.part.name)
        p = "-" if one.p is None else "< 0.001" if one.p < 0.001 else f"{one.p:.3f}"
        units = "-" if one.part.exact else str(one.part.effect.units)
        rows.setdefault(one.claim, []).append(Judged(one.verdict, texts, p, units))
    return list(rows.items())


def _data_of(place: str) -> str:
    pair = groupings_at(place)
    return place.rpartition("/")[0] if pair is None else pair.uneven
