"""The report as one HTML page that needs no network."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any

from fairexp.charts.extra import vl_convert
from fairexp.charts.figures import Spec
from fairexp.charts.pages import filled, in_script, page_head, paragraphs, table_html, terms
from fairexp.charts.style import BAND, FAIR_COLOURS, GRID, INK, MUTED, PAPER, display_name
from fairexp.experiments.claims.judgement import Finding
from fairexp.experiments.claims.results import Results
from fairexp.experiments.report.claims_section import claims_section
from fairexp.experiments.report.files import SHOWN, setting_rows, verdict_counts
from fairexp.experiments.report.tables import Comparison, Table, choices_table, failures_table, groups_table

DARK = {colours["light"]: colours["dark"] for colours in (FAIR_COLOURS, INK, MUTED, GRID, PAPER, BAND)}
"""The dark colour for each light one."""


def page_html(
    results: Results, findings: Sequence[Finding], comparisons: Sequence[Comparison], specs: Mapping[str, Spec]
) -> str:
    """The page. `specs` are the charts' definitions by id, in light colours; a dark page exchanges them."""
    title = results.experiment.title or results.experiment.name
    body = [
        _lead(results, findings),
        _navigation(results),
        claims_section(results, findings),
        _reading(comparisons),
        *(_setting(results, setting, comparisons, specs) for setting in results.settings),
        _further(results, specs),
        _appendix(results),
    ]
    parts = {
        "head": page_head(title, report=True),
        "title": escape(title),
        "body": "\n".join(body),
        "specs": in_script(json.dumps(dict(specs))),
        "dark": in_script(json.dumps(DARK)),
        "vega": in_script(vl_convert().javascript_bundle()),
    }
    return filled(files("fairexp.experiments.report").joinpath("page.html").read_text(encoding="utf-8"), parts)


def anchor(setting: str) -> str:
    """The setting as an id in the page and a part of file names."""
    return setting.replace("/", "-").replace("|", "-")


def _lead(results: Results, findings: Sequence[Finding]) -> str:
    supported, contradicted, undecided = verdict_counts(findings)
    worlds = [title for title in results.overview["titles"].values() if "(synthetic" in title]
    lines = [
        f"{len(results.settings)} settings, {len(results.rankers)} rankers, {len(results.main):,} final runs. Of "
        f"{len(findings)} judgements {supported} support the paper's finding, {contradicted} contradict it, and "
        f"{undecided} are undecided at this number of runs."
    ]
    lead = f'<div class="lead">{paragraphs(lines)}</div>'
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
    if len(results.versions) > 1:
        warnings.append("Records of several versions of fairexp: " + ", ".join(sorted(results.versions)) + ".")
    return lead + (f'<div class="warn">{paragraphs(warnings)}</div>' if warnings else "")


def _navigation(results: Results) -> str:
    links = [f'<a href="#{anchor(setting)}">{escape(setting)}</a>' for setting in results.settings]
    ends = (
        '<a href="#claims">Claims</a>',
        '<a href="#further">Tolerances and violations</a> <a href="#made">How made</a>',
    )
    return f"<nav>{ends[0]} {' '.join(links)} {ends[1]}</nav>"


def _reading(comparisons: Sequence[Comparison]) -> str:
    """What holds for the charts and tables of every setting."""
    base = display_name(comparisons[0].reference) if comparisons else "the first ranker"
    lines = [
        "Bands in the charts are the 95% intervals of the means, those of unfairness taken on the logarithmic "
        "scale. Online NDCG in the tables is discounted and summed over rounds, as in the paper. Unfairness is "
        "the exposure gap between the groups; qualified is the part of the rounds in which some ranking kept the "
        "tolerance; added regret counts certain orders reversed for fairness, per round.",
        f"* differs from {base}: paired t-test, p < .05 after Holm for all comparisons of the report (** .01, *** "
        ".001). Folds differ in difficulty for all rankers alike, so that differences between rankers are surer "
        "than their own intervals suggest.",
    ]
    return f'<h2 id="reading">Settings</h2><div class="note">{paragraphs(lines)}</div>'


def _setting(results: Results, setting: str, comparisons: Sequence[Comparison], charts: Mapping[str, Any]) -> str:
    figures = [name for name in charts if name.startswith(f"{anchor(setting)}-panel-")]
    headings = ["ranker", *(measure.heading[0].lower() + measure.heading[1:] for measure in SHOWN)]
    pairs = {run.pair for run in results.main if run.setting == setting}
    n_folds, n_seeds = (len({pair[i] for pair in pairs}) for i in (1, 0))
    over = f"{n_folds} folds, each the mean of its seeds" if n_folds > 1 else f"{n_seeds} seeds of the one fold"
    note = f"Means of {len(pairs)} run{'s' if len(pairs) != 1 else ''} with 95% intervals over {over}."
    table = table_html(headings, setting_rows(results, setting, comparisons))
    return (
        f'<h2 id="{anchor(setting)}">{escape(results.title(setting))}</h2>{_figures(figures)}{table}'
        f'<p class="note">{escape(note)}</p>'
    )


def _further(results: Results, charts: Mapping[str, Any]) -> str:
    frontiers = [name for name in charts if name.startswith("frontier-")]
    violations = [name for name in charts if name.startswith("violations-")]
    parts = ['<h2 id="further">Tolerances and violations</h2>']
    if frontiers:
        parts += ["<h3>Utility and unfairness over tolerances</h3>", _figures(frontiers)]
    if violations:
        parts += ["<h3>Certain orders reversed for fairness</h3>", _figures(violations)]
    return "\n".join(parts)


def _appendix(results: Results) -> str:
    overview = results.overview
    versions = ", ".join(f"{name} {version}" for name, version in overview["versions"].items())
    facts = [
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
    import yaml

    spec = yaml.safe_dump(overview["experiment"], sort_keys=False, allow_unicode=True)
    parts = [
        f'<h2 id="made">How this was made</h2><dl>{terms(facts)}</dl>',
        "<h3>Groups and data fingerprints</h3>" + _plain(groups_table(results)),
        "<details><summary>Chosen parameters</summary>" + _plain(choices_table(results)) + "</details>",
        _exposures(results),
        f"<details><summary>The experiment</summary><pre>{escape(spec)}</pre></details>",
    ]
    if overview["notes"]:
        parts.append("<h3>Notes</h3>" + paragraphs(overview["notes"]))
    if results.failures or results.missing:
        parts.append("<h3>Runs without a result</h3>" + _plain(failures_table(results)))
    return "\n".join(parts)


def _exposures(results: Results) -> str:
    rows = [
        [f"{row['data']}, fold {row['fold']}, {user}", *(f"{value:.3f}" for value in curve)]
        for row in results.overview["folds"]
        for user, curve in row["exposure"].items()
    ]
    headings = ["exposure by position", *(str(p) for p in range(1, len(rows[0])))]
    return f"<details><summary>Exposure by position</summary>{table_html(headings, rows)}</details>"


def _plain(table: Table) -> str:
    rows = [
        ["" if cell is None else f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in row]
        for row in table.rows
    ]
    return table_html(table.headings, rows)


def _figures(names: Sequence[str]) -> str:
    return '<div class="charts">' + "".join(f'<figure id="{escape(name)}"></figure>' for name in names) + "</div>"
