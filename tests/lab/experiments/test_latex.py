"""LaTeX tables: read as strictly as TeX would, and set by TeX where there is one."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairexp.lab.experiments.paper.findings import judge_all
from fairexp.lab.experiments.report.files import escaped, tabular, write_latex
from fairexp.lab.experiments.report.tables import compare
from tests.lab.experiments.made_up import made_up

SHOWN_AS = {
    r"\textbackslash{}": "\\",
    r"\textasciitilde{}": "~",
    r"\textasciicircum{}": "^",
    r"\textbar{}": "|",
    "$<$": "<",
    "$>$": ">",
    "$-$": "-",
    r"$\pm$": "±",
    "{[}": "[",
    **{f"\\{char}": char for char in "&%$#_{}"},
}
TOKEN = re.compile("|".join([*map(re.escape, SHOWN_AS), r"\$\^\{(?P<stars>\*+)\}\$", r"(?P<plain>[^\\&%$#_{}~^<>|[])"]))
ODD = "50% & x_1 #$ {a} ~^\\ <b> [c] | -3 a-1 ±"


def shown(cell: str) -> str:
    """What TeX prints for a cell; anything but plain text and the few escapes that we write is refused."""
    text, at = "", 0
    while at < len(cell):
        found = TOKEN.match(cell, at)
        assert found is not None, f"{cell[at : at + 20]!r} is no text"
        text += found["stars"] or found["plain"] or SHOWN_AS[found[0]]
        at = found.end()
    return text


def read(table: str) -> list[list[str]]:
    """The rows of a table, whose environment must be closed, and whose rows must have as many cells as columns."""
    comment, begin, *lines = table.splitlines()
    assert comment.startswith("% ")
    found = re.fullmatch(r"\\begin\{(tabular|longtable)\}\{(.*)\}", begin)
    assert found is not None and lines[-1] == rf"\end{{{found[1]}}}" and table.endswith("\n")
    columns = re.sub(r"@\{\}|>\{\\raggedright\\arraybackslash\}|(?<=p)\{0?\.\d+\\linewidth\}", "", found[2])
    assert re.fullmatch("[lrp]+", columns), columns
    rules = [line for line in lines if not line.endswith(r"\\")]
    long = [r"\endhead"] if found[1] == "longtable" else []
    plain = [rule for rule in rules if rule != r"\addlinespace"]
    assert plain == [r"\toprule", r"\midrule", *long, r"\bottomrule", lines[-1]]
    rows = [re.split(r"(?<!\\) & ", line.removesuffix(r" \\")) for line in lines if line.endswith(r"\\")]
    assert all(len(row) == len(columns) for row in rows)
    return [[shown(cell) for cell in row] for row in rows]


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """All tables of a report, and one with every special character, in both kinds."""
    results = made_up()
    folder = tmp_path_factory.mktemp("latex")
    written = write_latex(results, judge_all(results), compare(results), folder)
    for name, widths in (("odd", ()), ("odd-long", (0.4, None))):
        rows = [[ODD, "5 ± 1**"], ["[first]", "-0.5 [-1, 2]"], ["", "x"]]
        (folder / f"{name}.tex").write_text(tabular(["a_1", "100%"], rows, comment="50% #\n1", widths=widths))
        written.append(folder / f"{name}.tex")
    return written


def test_every_table_of_a_report_is_whole(tables: list[Path]) -> None:
    rows = {path.stem: read(path.read_text(encoding="utf-8")) for path in tables}
    assert len(rows) == 4 + 1 + 2
    assert all(len(one) == 1 + 5 for name, one in rows.items() if name.startswith(("pagerank", "inlinks")))
    assert (
        rows["odd"] == rows["odd-long"] == [["a_1", "100%"], [ODD, "5 ± 1**"], ["[first]", "-0.5 [-1, 2]"], ["", "x"]]
    )
    findings = judge_all(made_up())
    claims = rows["claims"][1:]
    assert len(claims) == len(findings)
    assert [row[0] for row in claims if row[0]] == list(dict.fromkeys(one.claim.statement for one in findings))


@settings(deadline=None, derandomize=True, max_examples=300)
@given(st.text(alphabet="ab1.*-&%$#_{}~^\\<>|[]± é", max_size=12))
def test_what_is_shown_is_what_was_given(text: str) -> None:
    assert shown(escaped(text)) == text
    assert read(tabular(["h", "k"], [[text, "x"]], comment=text))[1] == [text, "x"]


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex here")
def test_tex_sets_every_table_and_the_claims_fit_the_line(tables: list[Path], tmp_path: Path) -> None:
    needed = {name for path in tables for name in re.findall(r"needs \\usepackage\{(.*)\}", path.read_text())}
    packages = "".join(rf"\usepackage{{{name}}}" for name in sorted(needed))
    inputs = "\n\n".join(rf"\input{{{path}}}" for path in tables if path.stem in ("claims", "odd", "odd-long"))
    # Wide tables are shrunk, as an author would.
    shrunk = "\n\n".join(
        rf"\noindent\resizebox{{\linewidth}}{{!}}{{\input{{{path}}}}}"
        for path in tables
        if "-" in path.stem and not path.stem.startswith("odd")
    )
    text = (
        rf"\documentclass{{article}}\usepackage{{graphicx}}{packages}\begin{{document}}{inputs}{shrunk}\end{{document}}"
    )
    (tmp_path / "all.tex").write_text(text, encoding="utf-8")
    for _ in range(3):  # a longtable finds its widths from one time to the next
        command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-2000:]
    told = [line for line in done.stdout.splitlines() if re.search("Overfull|Warning|Missing character", line)]
    assert told == []
