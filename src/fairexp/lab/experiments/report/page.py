"""The report as one HTML page that needs no network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fairexp.charts.extra import bundle
from fairexp.charts.figures import Spec
from fairexp.charts.pages import render
from fairexp.charts.reliability import DEFINITION
from fairexp.charts.style import BAND, FAIR_COLOURS, GRID, INK, MUTED, PAPER
from fairexp.lab.experiments.frontier.verdicts import Frontier
from fairexp.lab.experiments.paper.judgement import Finding
from fairexp.lab.experiments.paper.results import Results
from fairexp.lab.experiments.report.claims_section import claims_section
from fairexp.lab.experiments.report.files import SHOWN, setting_rows, verdict_counts
from fairexp.lab.experiments.report.frontier_section import frontier_section, summary
from fairexp.lab.experiments.report.tables import (
    Cell,
    Comparison,
    Table,
    anchor,
    choices_table,
    failures_table,
    groups_table,
)
from fairexp.measures import IRRELEVANT, MAX_UF, ONLINE_NDCG
from fairexp.statistics import effect_over

DARK = {colours["light"]: colours["dark"] for colours in (FAIR_COLOURS, INK, MUTED, GRID, PAPER, BAND)}
"""The dark colour for each light one."""


@dataclass(frozen=True)
class Section:
    """What the page shows of one setting: its charts by id, a table, and a note on what it is the mean of."""

    name: str
    anchor: str
    title: str
    figures: list[str]
    headings: list[str]
    rows: list[list[str]]
    note: str
    field_headings: list[str]
    field_rows: list[list[str]]


@dataclass(frozen=True)
class Glance:
    """The settings at a glance: the rankers' names; for each setting its anchor, title, and NDCG and gap by ranker."""

    rankers: list[str]
    rows: list[tuple[str, str, list[tuple[str, ...]]]]


def page_html(
    results: Results,
    findings: Sequence[Finding],
    comparisons: Sequence[Comparison],
    specs: Mapping[str, Spec],
    found: Sequence[Frontier] = (),
) -> str:
    """The page. `specs` are the charts' definitions by id, in light colours; a dark page exchanges them."""
    import yaml

    overview = results.overview
    return render(
        "lab/experiments/report/page.html",
        title=results.experiment.title or results.experiment.name,
        lead=_lead(results, findings, found),
        warnings=_warnings(results),
        claims=claims_section(results, findings),
        reading=_reading(results, comparisons),
        settings=[_section(results, setting, comparisons, specs) for setting in results.settings],
        glance=_glance(results),
        frontier=frontier_section(results, found, list(specs)),
        reliability=_reliability(results, specs),
        reliable=DEFINITION,
        violations=[name for name in specs if name.startswith("violations-")],
        facts=_facts(results),
        groups=_as_text(groups_table(results)),
        choices=_as_text(choices_table(results)),
        exposures=_exposures(results),
        field=[f"{one}: {one.definition} {one.better.capitalize()} is better." for one in results.of_the_field],
        experiment=yaml.safe_dump(overview["experiment"], sort_keys=False, allow_unicode=True),
        notes=overview["notes"],
        failures=_as_text(failures_table(results)),
        specs=dict(specs),
        dark=DARK,
        vega=bundle(),
    )


def _lead(results: Results, findings: Sequence[Finding], found: Sequence[Frontier]) -> list[str]:
    """What came out, before anything else."""
    supported, contradicted, undecided = verdict_counts(findings)
    lines = [
        f"{counted(len(results.settings), 'setting')}, {counted(len(results.rankers), 'ranker')}, "
        f"{counted(len(results.main), 'final run')} with the chosen parameters. {_rounds(results)}"
    ]
    if findings:
        lines.append(
            f"Of {len(findings)} judgements {supported} support the paper's finding, {contradicted} contradict it, and "
            f"{undecided} are undecided at this number of runs."
        )
    return [*lines, *([summary(found)] if found else [])]


def _rounds(results: Results) -> str:
    """How many rounds were played on each data set: all alike, or each by name."""
    experiment = results.experiment
    rounds = {label: spec.rounds or experiment.rounds for label, spec in experiment.data.items()}
    if len(set(rounds.values())) == 1:
        return f"Every run played {counted(next(iter(rounds.values())), 'round')}."
    return "Rounds in each run: " + ", ".join(f"{label} {n:,}" for label, n in rounds.items()) + "."


def counted(n: int, what: str) -> str:
    """A number of things.

    >>> counted(1, "run"), counted(1200, "run")
    ('1 run', '1,200 runs')
    """
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def _glance(results: Results) -> Glance:
    """Every setting in a line: what each ranker came to, online NDCG over largest unfairness."""
    rows = []
    for setting in results.settings:
        cells = []
        for ranker in results.rankers:
            both = [(one, results.values(setting, ranker, one)) for one in (ONLINE_NDCG, MAX_UF)]
            cells.append(tuple(one.text(effect_over(values).mean if values else None) for one, values in both))
        rows.append((anchor(setting), results.title(setting), cells))
    return Glance([results.name(ranker) for ranker in results.rankers], rows)


def _warnings(results: Results) -> list[str]:
    worlds = [title for title in results.overview["titles"].values() if "(synthetic" in title]
    warnings = []
    if worlds:
        warnings.append(
            "Synthetic data: " + "; ".join(worlds) + ". Synthetic worlds have the shape of the collections, not their "
            "contents; what holds here need not hold there."
        )
    if results.missing or results.failures:
        warnings.append(
            f"Incomplete: {len(results.missing)} runs were not played and {len(results.failures)} failed; see the end."
        )
    without = results.overview.get("without_choice", [])
    if without:
        warnings.append("No parameters could be chosen, so that nothing was played: " + ", ".join(without) + ".")
    if "sharing" not in results.overview:
        warnings.append(
            "These records do not say which queries folds share: intervals over folds are as if they shared none, and "
            "too narrow where they do. Run the experiment once more: it plays nothing again, and adds what is missing."
        )
    if len(results.versions) > 1:
        warnings.append("Records of several versions of fairexp: " + ", ".join(sorted(results.versions)) + ".")
    return warnings


def _reading(results: Results, comparisons: Sequence[Comparison]) -> list[str]:
    """What holds for the charts and tables of every setting."""
    base = results.name(comparisons[0].reference) if comparisons else "the first ranker"
    return [
        "Bands in the charts are the 95% intervals of the means. NDCG, online and held out alike: "
        f"{IRRELEVANT[results.experiment.irrelevant]}. Online NDCG in the tables is discounted and summed over rounds, "
        "as in the paper. Unfairness is "
        "the exposure gap between the groups; qualified is the part of the rounds whose list is within the "
        "tolerance; added regret counts certain orders reversed for fairness, per round.",
        f"* differs from {base}: paired t-test, p < .05 after Holm for all comparisons of the report (** .01, *** "
        ".001). Folds differ in difficulty for all rankers alike, so that differences between rankers are surer "
        "than their own intervals suggest.",
    ]


def _section(results: Results, setting: str, comparisons: Sequence[Comparison], specs: Mapping[str, Spec]) -> Section:
    pairs = {run.pair for run in results.main if run.setting == setting}
    n_folds, n_seeds = (len({pair[i] for pair in pairs}) for i in (1, 0))
    over = f"{n_folds} folds, each the mean of its seeds" if n_folds > 1 else f"{n_seeds} seeds of the one fold"
    data = results.experiment.data[setting.rpartition("/")[0]]
    rounds = data.rounds or results.experiment.rounds
    rule = IRRELEVANT[results.experiment.irrelevant]
    return Section(
        name=setting,
        anchor=anchor(setting),
        title=results.title(setting),
        figures=[name for name in specs if name.startswith(f"{anchor(setting)}-panel-")],
        headings=["ranker", *(each.heading[0].lower() + each.heading[1:] for each in SHOWN)],
        rows=setting_rows(results, setting, comparisons),
        note=f"Means of {counted(len(pairs), 'run')} of {counted(rounds, 'round')} with 95% intervals over {over}. "
        f"NDCG: {rule}.",
        field_headings=["ranker", *(measure.name for measure in results.of_the_field)],
        field_rows=setting_rows(results, setting, comparisons, results.of_the_field) if results.of_the_field else [],
    )


def _reliability(results: Results, specs: Mapping[str, Spec]) -> list[tuple[str, list[str]]]:
    """The reliability charts by id, under the title of their setting."""
    found = []
    for setting in results.settings:
        names = (f"reliability-{anchor(f'{setting}-{ranker}')}" for ranker in results.rankers)
        found.append((results.title(setting), [name for name in names if name in specs]))
    return [(title, names) for title, names in found if names]


def _facts(results: Results) -> list[tuple[str, str]]:
    """How the report was made."""
    overview = results.overview
    versions = ", ".join(f"{name} {version}" for name, version in overview["versions"].items())
    return [
        ("Command", overview["command"] or "not known"),
        ("Started", overview["started"]),
        ("Versions", versions),
        (
            "Exposure",
            "estimated on shuffled rankings with the same users"
            if results.experiment.exposure == "randomised"
            else str(results.experiment.exposure),
        ),
        ("Group 0 is owed", f"beta by {results.experiment.beta}, see the groups"),
    ]


def _exposures(results: Results) -> Table:
    rows: list[list[Cell]] = [
        [f"{row['data']}, fold {row['fold']}, {user}", *(f"{value:.3f}" for value in curve)]
        for row in results.overview["folds"]
        for user, curve in row["exposure"].items()
    ]
    return Table("exposures", ["exposure by position", *(str(p) for p in range(1, len(rows[0])))], rows)


def _as_text(table: Table) -> Table:
    """The table with every cell as it is shown."""
    rows: list[list[Cell]] = [
        ["" if cell is None else f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in row]
        for row in table.rows
    ]
    return Table(table.name, table.headings, rows)
