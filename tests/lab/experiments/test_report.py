from __future__ import annotations

import csv
import re
from dataclasses import replace
from html import unescape
from pathlib import Path

import numpy as np
import pytest

from fairexp.lab.experiments.frontier.verdicts import frontiers
from fairexp.lab.experiments.paper.findings import CLAIMS, judge_all, rules
from fairexp.lab.experiments.paper.results import mean_over_rounds
from fairexp.lab.experiments.report.files import tabular, write_csv, write_latex
from fairexp.lab.experiments.report.page import page_html
from fairexp.lab.experiments.report.report import chart_specs, figures
from fairexp.lab.experiments.report.tables import all_tables, compare
from fairexp.lab.simulation.result import RELIABILITY
from fairexp.reliability import N_BINS, Predictions, Reliability
from tests.lab.experiments.made_up import made_up

pytest.importorskip("altair")
pytest.importorskip("vl_convert")


def test_the_page_holds_everything_and_needs_no_network() -> None:
    results = made_up()
    found = frontiers(results)
    specs = chart_specs(results, found)
    page = page_html(results, judge_all(results), compare(results), specs, found)
    markup = page.split('<script type="application/json"')[0]
    assert not re.search(r'(src|href)="(?!#)', markup) and "default-src 'none'" in markup
    for setting in results.settings:
        assert results.title(setting) in page
    assert page.count("<figure id=") == len(specs) == 4 * 3 + 2 * 3 + 2
    assert "fairexp experiment run small.yaml" in page and "0" * 24 in page
    assert "Synthetic data" in page and page.count("(synthetic world)") > 4
    assert 'class="supported"' in page


def test_the_page_states_its_rules_and_what_it_does_not_judge() -> None:
    results = made_up()
    overview = {**results.overview, "rules": rules(), "notes": []}
    told = replace(results, overview=overview)
    page = page_html(told, judge_all(told), compare(told), {})
    assert "as written down before the first run" in page and "Not judged by this experiment" not in page
    assert page.index("What decides each claim") < page.index('class="matrix"')
    assert all(claim.rule in unescape(page) for claim in CLAIMS)
    few = [one for one in judge_all(told) if one.claim.where == "setting"]
    moved = replace(results, overview={**overview, "rules": []}, versions={"1", "2"})
    page = page_html(moved, few, compare(moved), {})
    assert "changed since the first run" in page and "Records of several versions of fairexp: 1, 2" in page
    assert "Not judged by this experiment" in page and "needs two groupings of the same data" in page


def test_reliability_is_folded_by_setting() -> None:
    """However many rankers and settings there are: what is open is as long as one setting."""
    results = made_up()
    sums = Predictions(np.full((3, N_BINS), 30.0))
    summary = Reliability(sums, sums).summary()
    sure = [
        replace(run, result={**run.result, RELIABILITY: summary}) for run in results.main if "pairrank" in run.ranker
    ]
    told = replace(results, main=sure)
    page = page_html(told, [], [], chart_specs(told))
    section = page.split('<section id="reliability">')[1].split("</section>")[0]
    assert section.count("<details") == len(results.settings) == 4 and section.count(" open") == 1
    assert section.count("<figure id=") == 4 * 2 and all(results.title(name) in section for name in results.settings)


def test_every_figure_says_that_its_data_is_synthetic() -> None:
    results = made_up()
    made = figures(results, chart_specs(results, frontiers(results)))
    assert {"pagerank-perfect", "frontier-pagerank-navigational", "violations-mslr"} <= made.keys()
    assert all("synthetic" in str(spec) for spec in made.values())


def test_tables_hold_means_intervals_and_significance(tmp_path: Path) -> None:
    results = made_up()
    tables = {table.name: table for table in all_tables(results, judge_all(results), compare(results))}
    for table in tables.values():
        assert all(len(row) == len(table.headings) for row in table.rows), table.name
    assert len(tables["runs"].rows) == 4 * 5 * 5 + 2 * 5 * 2
    assert len(tables["summary"].rows) == 4 * 5
    with write_csv(tables["summary"], tmp_path).open() as file:
        line = next(row for row in csv.DictReader(file) if row["ranker"] == "pairrank")
    assert line["source"] == "synthetic"
    assert float(line["online nDCG@10 low"]) < float(line["online nDCG@10"]) < float(line["online nDCG@10 high"])
    with write_csv(tables["comparisons"], tmp_path).open() as file:
        lines = [row for row in csv.DictReader(file) if row["measure"] == "mean UF" and row["ranker"] == "pdgd"]
    assert all(200 < float(row["effect"]) < 450 and float(row["p"]) <= float(row["p_holm"]) < 0.05 for row in lines)


def test_latex_is_escaped(tmp_path: Path) -> None:
    results = made_up()
    written = write_latex(results, judge_all(results), compare(results), tmp_path)
    text = (tmp_path / "pagerank-perfect.tex").read_text()
    assert len(written) == 5 and r"$\pm$" in text and "FairExp-PairRank" in text
    assert re.search(r"PDGD & 80\.\d \$\\pm\$", text) or re.search(r"PDGD & (79|81)\.\d \$\\pm\$", text)
    assert r"50\% \& x\_1" in tabular(["a"], [["50% & x_1"]], comment="c")
    odd = tabular(["a"], [[r"a\b^c~d < e"]], comment="two\nlines")
    assert r"a\textbackslash{}b\textasciicircum{}c\textasciitilde{}d $<$ e" in odd and odd.startswith("% two lines;")
    claims = (tmp_path / "claims.tex").read_text()
    begin, end = claims.index(r"\begin{longtable}"), claims.index(r"\end{longtable}")
    rows = [line for line in claims[begin:end].splitlines() if line.endswith(r"\\")]
    assert len(rows) == 1 + len(judge_all(results)) and all(len(re.split(r"(?<!\\)&", row)) == 4 for row in rows)


def test_the_mean_over_rounds_weighs_rounds_not_points() -> None:
    assert mean_over_rounds([1, 2, 101], [0.0, 0.0, 1.0]) == pytest.approx(0.495)
    assert mean_over_rounds([5], [0.3]) == 0.3 and mean_over_rounds([1, 2], [None, None]) is None
