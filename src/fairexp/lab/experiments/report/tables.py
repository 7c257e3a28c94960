"""The numbers of the report as tables: what each ranker came to, how rankers compare, the sweep, the choices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fairexp.lab.experiments.frontier.tables import frontier_tables
from fairexp.lab.experiments.frontier.verdicts import Frontier
from fairexp.lab.experiments.paper.evidence import added_regret, compared, scale_of
from fairexp.lab.experiments.paper.groupings import groupings_at
from fairexp.lab.experiments.paper.judgement import Finding, effect_text
from fairexp.lab.experiments.paper.results import Results
from fairexp.lab.experiments.plan.run import parameters_text
from fairexp.lab.experiments.plan.sweeps import sweeps
from fairexp.measures import (
    HELDOUT_NDCG,
    MAX_UF,
    MEAN_ADDED_REGRET,
    MEAN_HELDOUT_NDCG,
    MEAN_UF,
    ONLINE_NDCG,
    QUALIFIED_SHARE,
    Measure,
)
from fairexp.statistics import Effect, Pair, effect_over, holm

COMPARED = (ONLINE_NDCG, HELDOUT_NDCG, MEAN_HELDOUT_NDCG, MEAN_UF)
SWEPT = (ONLINE_NDCG, HELDOUT_NDCG, MEAN_UF, MAX_UF, QUALIFIED_SHARE)
Cell = str | int | float | None


@dataclass(frozen=True)
class Table:
    """Headings and rows; numbers stay numbers until they are shown."""

    name: str
    headings: list[str]
    rows: list[list[Cell]]


@dataclass(frozen=True)
class Comparison:
    """A ranker against the reference in one setting and measure: a difference, or a log ratio of unfairness."""

    setting: str
    measure: Measure
    reference: str
    other: str
    effect: Effect
    p: float | None


def all_tables(
    results: Results, findings: list[Finding], comparisons: list[Comparison], found: Sequence[Frontier] = ()
) -> list[Table]:
    """Every table, for CSV files."""
    return [
        *(_by_row(name, rows) for name, rows in frontier_tables(results, found).items() if rows),
        runs_table(results),
        summary_table(results),
        comparisons_table(results, comparisons),
        claims_table(results, findings),
        sweep_table(results),
        violations_table(results),
        choices_table(results),
        groups_table(results),
        failures_table(results),
    ]


def _by_row(name: str, rows: Sequence[Mapping[str, Cell]]) -> Table:
    """A table of rows that have the same keys."""
    return Table(name, list(rows[0]), [list(row.values()) for row in rows])


def reference(results: Results) -> str:
    """The ranker that others are compared with: FairExp where there is one."""
    return results.fair or results.rankers[0]


def compare(results: Results) -> list[Comparison]:
    """Every ranker with the reference, in every setting; p-values corrected for all of them together."""
    base = reference(results)
    found = []
    for setting in results.settings:
        for measure in COMPARED:
            for other in results.rankers:
                one, two = (results.values(setting, name, measure) for name in (base, other))
                paired = compared(results, setting, measure, two, one) if other != base else None
                if paired is not None:
                    found.append((setting, measure, other, paired))
    corrected = holm([paired.p for *_, paired in found])
    return [
        Comparison(setting, measure, base, other, paired, p)
        for (setting, measure, other, paired), p in zip(found, corrected, strict=True)
    ]


def runs_table(results: Results) -> Table:
    rows: list[list[Cell]] = [
        [
            *(run.data, run.user, run.ranker, parameters_text(run.parameters), run.fold, run.seed, run.key),
            results.experiment.irrelevant,
            *(run.value(measure) for measure in results.measures),
        ]
        for run in [*results.main, *(run for _, run in results.sweep if run not in results.main)]
    ]
    return Table(
        "runs",
        [
            "data",
            "user",
            "ranker",
            "parameters",
            "fold",
            "seed",
            "run",
            "irrelevant",
            *(measure.name for measure in results.measures),
        ],
        rows,
    )


def summary_table(results: Results) -> Table:
    rows: list[list[Cell]] = []
    for setting in results.settings:
        for ranker in results.rankers:
            values = [results.values(setting, ranker, measure) for measure in results.measures]
            n = max(map(len, values))
            if n:
                rows.append(
                    [
                        *_setting_cells(results, setting),
                        results.experiment.irrelevant,
                        ranker,
                        n,
                        *_interval_cells(results, setting, results.measures, values),
                    ]
                )
    headings = ["data", "user", "source", "irrelevant", "ranker", "pairs"]
    return Table("summary", [*headings, *_interval_headings(results.measures)], rows)


def comparisons_table(results: Results, comparisons: list[Comparison]) -> Table:
    rows: list[list[Cell]] = []
    for one in comparisons:
        shown = one.effect.exp() if one.measure.by_ratio else one.effect
        numbers = (shown.mean, shown.low, shown.high, shown.p, one.p, shown.n, shown.units)
        what = (one.measure.name, one.other, one.reference, scale_of(one.measure))
        rows.append([*_setting_cells(results, one.setting), *what, *numbers])
    headings = ["data", "user", "source", "measure", "ranker", "compared_with", "kind"]
    return Table("comparisons", [*headings, "effect", "low", "high", "p", "p_holm", "pairs", "units"], rows)


def claims_table(results: Results, findings: list[Finding]) -> Table:
    rows: list[list[Cell]] = []
    for one in findings:
        shown = one.part.effect.exp() if one.part.scale == "ratio" else one.part.effect
        claim = (one.claim.id, one.claim.statement, place_text(results, one.place), one.verdict, one.claim.measure)
        numbers = (
            shown.mean,
            shown.low,
            shown.high,
            one.p,
            shown.n,
            shown.units,
            effect_text(one.part),
            one.claim.rule,
        )
        rows.append([*claim, one.part.name, one.part.scale, *numbers])
    headings = ["claim", "statement", "place", "verdict", "measure", "decided_by", "scale"]
    return Table("claims", [*headings, "effect", "low", "high", "p_holm", "n", "units", "text", "rule"], rows)


def sweep_table(results: Results) -> Table:
    rows: list[list[Cell]] = []
    for setting in results.settings:
        for ranker, sweep in sweeps(results.experiment).items():
            for value in results.values_swept(ranker):
                measured = [results.swept(setting, value, measure, ranker=ranker) for measure in SWEPT]
                cells = _interval_cells(results, setting, SWEPT, measured)
                if any(cell is not None for cell in cells):
                    rows.append([*_setting_cells(results, setting), ranker, sweep.parameter, value, *cells])
    headings = ["data", "user", "source", "ranker", "parameter", "value"]
    return Table("sweep", [*headings, *_interval_headings(SWEPT)], rows)


def violations_table(results: Results) -> Table:
    """Added regret per round of the fair ranker, by tenth of the rounds."""
    rows: list[list[Cell]] = []
    for setting in results.settings:
        runs = [run for run in results.main if run.setting == setting and run.ranker == results.fair]
        for tenth in range(10) if runs else []:
            amounts = {run.pair: added_regret(run, tenth / 10, (tenth + 1) / 10) for run in runs}
            found = effect_over(amounts, results.shared(setting, MEAN_ADDED_REGRET))
            rows.append([*_setting_cells(results, setting), tenth + 1, found.mean, found.low, found.high, found.n])
    return Table(
        "violations", ["data", "user", "source", "tenth", MEAN_ADDED_REGRET.name, "low", "high", "pairs"], rows
    )


def choices_table(results: Results) -> Table:
    rows: list[list[Cell]] = [
        [row["data"], row["user"], row["fold"], row["ranker"], parameters_text(row["parameters"])]
        for row in results.overview["chosen"]
    ]
    return Table("choices", ["data", "user", "fold", "ranker", "parameters"], rows)


def groups_table(results: Results) -> Table:
    rows: list[list[Cell]] = []
    for row in results.overview["folds"]:
        for group in row["groups"]:
            source = "synthetic" if row["synthetic"] else "real"
            numbers = [group["size"], group["share"], group["average_utility"], group["total_utility"], row["beta"]]
            rows.append([row["data"], source, row["fold"], group["name"], *numbers, row["fingerprint"]])
    headings = ["data", "source", "fold", "group", "documents", "share", "average_utility", "total_utility", "beta"]
    return Table("groups", [*headings, "fingerprint"], rows)


def failures_table(results: Results) -> Table:
    rows: list[list[Cell]] = [[failure["key"], failure["error"]] for failure in results.failures]
    rows += [[key, "not played"] for key in results.missing]
    return Table("failures", ["run", "error"], rows)


def anchor(setting: str) -> str:
    """The setting as an id in the page and a part of file names."""
    return setting.replace("/", "-").replace("|", "-")


def place_text(results: Results, place: str) -> str:
    """A setting, or two groupings, for people."""
    pair = groupings_at(place)
    if pair is None:
        return results.title(place)
    synthetic = " (synthetic)" if is_synthetic_label(results, pair.uneven) else ""
    return f"{pair.uneven} against {pair.even}{synthetic}, {pair.user} users"


def is_synthetic_label(results: Results, label: str) -> bool:
    """Whether the data of that label came from a world."""
    return any(row["synthetic"] for row in results.overview["folds"] if row["data"] == label)


def _setting_cells(results: Results, setting: str) -> list[Cell]:
    data, _, user = setting.rpartition("/")
    return [data, user, "synthetic" if is_synthetic_label(results, data) else "real"]


def _interval_headings(measures: Sequence[Measure]) -> list[str]:
    return [name for measure in measures for name in (measure.name, f"{measure} low", f"{measure} high")]


def _interval_cells(
    results: Results, setting: str, measures: Sequence[Measure], values: Sequence[Mapping[Pair, float]]
) -> list[Cell]:
    """The mean of each measure and the ends of its interval; nothing where it does not apply."""
    found = [results.effect(setting, one, measure) for one, measure in zip(values, measures, strict=True)]
    return [cell for one in found for cell in ((None,) * 3 if one is None else (one.mean, one.low, one.high))]
