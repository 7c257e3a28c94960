"""The report of an experiment: a page, the numbers as CSV and LaTeX, and the figures."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fairexp
from fairexp.charts import save_figures, side_by_side
from fairexp.charts.extra import altair, vl_convert
from fairexp.charts.figures import Spec
from fairexp.lab.experiments.frontier.tables import frontier_record
from fairexp.lab.experiments.frontier.verdicts import Frontier, frontiers
from fairexp.lab.experiments.paper.findings import judge_all
from fairexp.lab.experiments.paper.judgement import Finding
from fairexp.lab.experiments.paper.results import Results, read_results
from fairexp.lab.experiments.report.charts import (
    families,
    frontier_charts,
    reliability_charts,
    setting_charts,
    violation_charts,
)
from fairexp.lab.experiments.report.files import write_csv, write_latex
from fairexp.lab.experiments.report.page import page_html
from fairexp.lab.experiments.report.tables import all_tables, anchor, compare
from fairexp.lab.experiments.run.records import Records

PAGE, FRONTIER, STAMP = "report.html", "frontier.json", ".written"


@dataclass(frozen=True)
class Written:
    """Where the page lies, and what it tells."""

    page: Path
    results: Results
    findings: list[Finding]
    frontiers: list[Frontier]


def write(
    records: Records, folder: Path, *, tell: Callable[[str], None] = lambda line: None, anew: bool = True
) -> Written:
    """Write all to `folder`: report.html, frontier.json, tables/*.csv, latex/*.tex, figures/*.png, *.svg and *.pdf.

    Unless `anew`, a report that was written from the same records by the same version is left as it is.
    """
    altair(), vl_convert()  # refuse before the work
    results = read_results(records)
    findings, comparisons, found = judge_all(results), compare(results), frontiers(results)
    page, mark = folder / PAGE, _mark(results)
    written = Written(page, results, findings, found)
    stamp = folder / STAMP
    if not anew and page.exists() and stamp.exists() and stamp.read_text(encoding="utf-8") == mark:
        tell("the report is up to date")
        return written
    stamp.unlink(missing_ok=True)
    tell("report: tables")
    tables = folder / "tables"
    tables.mkdir(parents=True, exist_ok=True)
    for table in all_tables(results, findings, comparisons, found):
        write_csv(table, tables)
    write_latex(results, findings, comparisons, folder / "latex")
    if found:
        (folder / FRONTIER).write_text(json.dumps(frontier_record(results, found)) + "\n", encoding="utf-8")
    specs = chart_specs(results, found, tell=tell)
    drawings = figures(results, specs)
    for number, (name, spec) in enumerate(drawings.items(), start=1):
        tell(f"report: figure {number} of {len(drawings)}")
        save_figures({name: spec}, folder / "figures")
    tell("report: the page")
    page.write_text(page_html(results, findings, comparisons, specs, found), encoding="utf-8")
    stamp.write_text(mark, encoding="utf-8")
    return written


def _mark(results: Results) -> str:
    """A digest of what a report is made from: the overview without the command, which runs there are, the version."""
    overview = {key: value for key, value in results.overview.items() if key != "command"}
    failures = sorted(failure["key"] for failure in results.failures)
    content = [overview, sorted(results.missing), failures, sorted(results.versions), fairexp.__version__]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest() + "\n"


def chart_specs(
    results: Results, found: Sequence[Frontier] = (), *, tell: Callable[[str], None] = lambda line: None
) -> dict[str, Spec]:
    """Every chart of the page, by id."""
    made: dict[str, Any] = {}
    for number, setting in enumerate(results.settings, start=1):
        tell(f"report: charts of setting {number} of {len(results.settings)}")
        for name, chart in setting_charts(results, setting).items():
            made[f"{anchor(setting)}-panel-{name}"] = chart
    tell("report: charts over all settings")
    made.update({f"frontier-{anchor(name)}": chart for name, chart in frontier_charts(results, found).items()})
    made.update({f"reliability-{anchor(name)}": chart for name, chart in reliability_charts(results).items()})
    made.update({f"violations-{name}": chart for name, chart in violation_charts(results).items()})
    return {name: chart.to_dict(validate=False) for name, chart in made.items()}


def figures(results: Results, specs: dict[str, Spec]) -> dict[str, Spec]:
    """The figures for print, by file name: each setting's three panels in a row, the frontiers, the violations."""
    made = {}
    for setting in results.settings:
        panels = [spec for name, spec in specs.items() if name.startswith(f"{anchor(setting)}-panel-")]
        made[anchor(setting)] = side_by_side(panels, title=results.title(setting))
    for setting in results.settings:  # over the largest gap; the page has the other measures
        name = f"frontier-{anchor(setting)}"
        made.update({name: specs[name]} if name in specs else {})
    for family in families(results):
        violations = [spec for name, spec in specs.items() if name.startswith(f"violations-{family}-")]
        if violations:
            made[f"violations-{family}"] = side_by_side(violations)
    return made
