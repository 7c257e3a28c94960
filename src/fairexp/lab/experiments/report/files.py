"""Tables into CSV and LaTeX."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path

from fairexp.lab.experiments.paper.judgement import CONTRADICTED, SUPPORTED, Finding, effect_text
from fairexp.lab.experiments.paper.results import Results
from fairexp.lab.experiments.report.tables import Comparison, Table, place_text
from fairexp.measures import (
    HELDOUT_NDCG,
    IRRELEVANT,
    MAX_UF,
    MEAN_ADDED_REGRET,
    MEAN_UF,
    MISSING,
    ONLINE_NDCG,
    QUALIFIED_SHARE,
    ROUND_TIME,
    Measure,
)

SHOWN = (ONLINE_NDCG, HELDOUT_NDCG, MEAN_UF, MAX_UF, QUALIFIED_SHARE, MEAN_ADDED_REGRET, ROUND_TIME)
"""The measures of a setting's table."""
CLAIM_WIDTHS = (0.24, 0.24, None, 0.24)
"""Of the columns of the claims: with the verdict between, they fill a line of LaTeX's own article."""

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": "$<$",
    ">": "$>$",
    "|": r"\textbar{}",
    "±": r"$\pm$",
    "[": "{[}",  # an argument, were it the first thing after the end of a row
}


def write_csv(table: Table, folder: Path) -> Path:
    """NAME.csv; empty cells where there is nothing."""
    path = folder / f"{table.name}.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(table.headings)
        writer.writerows(table.rows)
    return path


def setting_rows(
    results: Results, setting: str, comparisons: Sequence[Comparison], measures: Sequence[Measure] = SHOWN
) -> list[list[str]]:
    """A row for each ranker: its name, then mean and half width of each measure, marked where it differs from the
    reference."""
    marks = {(one.other, one.measure): significance(one.p) for one in comparisons if one.setting == setting}
    rows = []
    for ranker in results.rankers:
        cells = [results.name(ranker)]
        for measure in measures:
            values = results.values(setting, ranker, measure)
            if measure == MEAN_ADDED_REGRET and not results.values(setting, ranker, QUALIFIED_SHARE):
                values = {}  # it reverses nothing for fairness because it knows none
            found = results.effect(setting, values, measure)
            text = MISSING if found is None else measure.text(found.mean, found.half_width or None)
            cells.append(text + marks.get((ranker, measure), ""))
        rows.append(cells)
    return rows


def significance(p: float | None) -> str:
    """Asterisks for corrected p-values below .05, .01 and .001.

    >>> significance(0.03), significance(0.0001), significance(None)
    ('*', '***', '')
    """
    return "" if p is None else "*" * sum(p < bound for bound in (0.05, 0.01, 0.001))


def write_latex(
    results: Results, findings: Sequence[Finding], comparisons: Sequence[Comparison], folder: Path
) -> list[Path]:
    """A tabular for each setting, and one with the claims, ready to be input."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    rule = f"NDCG: {IRRELEVANT[results.experiment.irrelevant]}"
    headings = ["Ranker", *(measure.heading for measure in SHOWN)]
    for setting in results.settings:
        path = folder / f"{setting.replace('/', '-')}.tex"
        path.write_text(
            tabular(headings, setting_rows(results, setting, comparisons), comment=f"{results.title(setting)}; {rule}"),
            encoding="utf-8",
        )
        written.append(path)
    claims, named = [], None
    for one in findings:
        statement = "" if one.claim is named else one.claim.statement
        claims.append([statement, place_text(results, one.place), one.verdict, effect_text(one.part)])
        named = one.claim
    path = folder / "claims.tex"
    headings = ["Claim", "Where", "Verdict", "Effect"]
    path.write_text(tabular(headings, claims, comment="Claims", widths=CLAIM_WIDTHS), encoding="utf-8")
    return [*written, path]


def tabular(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    comment: str,
    widths: Sequence[float | None] = (),
) -> str:
    r"""LaTeX for a table of text, with the booktabs rules.

    With `widths`, parts of the line's width that text is broken to (None: as wide as need be), it is a longtable that
    goes on over pages, in which a row without its first cell belongs to the one before.

    >>> print(tabular(["a", "b"], [["x_1", "5 ± 1**"]], comment="c"))
    % c; needs \usepackage{booktabs}
    \begin{tabular}{lr}
    \toprule
    a & b \\
    \midrule
    x\_1 & 5 $\pm$ 1$^{**}$ \\
    \bottomrule
    \end{tabular}
    <BLANKLINE>
    """
    head, *lines = [" & ".join(map(escaped, row)) + r" \\" for row in (headings, *rows)]
    kind, packages, columns = "tabular", "booktabs", f"l{'r' * (len(headings) - 1)}"
    if widths:
        kind, packages = "longtable", "array,booktabs,longtable"
        columns = f"@{{}}{''.join('l' if width is None else _broken(width) for width in widths)}@{{}}"
        lines = [f"\\addlinespace\n{line}" if row[0] else line for row, line in zip(rows, lines, strict=True)]
    told = rf"% {' '.join(comment.split())}; needs \usepackage{{{packages}}}"
    above = [told, rf"\begin{{{kind}}}{{{columns}}}", r"\toprule", head, r"\midrule"]
    repeated = [r"\endhead"] if widths else []
    return "\n".join([*above, *repeated, *lines, r"\bottomrule", rf"\end{{{kind}}}", ""])


def _broken(width: float) -> str:
    """A column of lines that end where words do: there is no room to fill them up."""
    return rf">{{\raggedright\arraybackslash}}p{{{width:g}\linewidth}}"


def escaped(text: str) -> str:
    r"""Text that LaTeX shows as it is, with minus signs before numbers.

    >>> print(escaped("50% & x_1"), escaped("fold-1 [-0.5, 2]"))
    50\% \& x\_1 fold-1 {[}$-$0.5, 2]
    """
    plain = "".join(_SPECIAL.get(char, f"\\{char}" if char in "&%$#_{}" else char) for char in text)
    plain = re.sub(r"(?<!\w)-(?=\d)", "$-$", plain)
    return re.sub(r"\*+$", lambda stars: f"$^{{{stars[0]}}}$", plain)


def verdict_counts(findings: Sequence[Finding]) -> tuple[int, int, int]:
    """How many are supported, contradicted and undecided."""
    supported = sum(one.verdict == SUPPORTED for one in findings)
    contradicted = sum(one.verdict == CONTRADICTED for one in findings)
    return supported, contradicted, len(findings) - supported - contradicted
