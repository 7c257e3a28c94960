"""The report as one HTML page that needs no network."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any

from fairexp.charts.extra import vl_convert
from fairexp.charts.figures import Spec
from fairexp.charts.style import BAND, FAIR_COLOURS, GRID, INK, MUTED, PAPER
from fairexp.experiments.findings import CONTRADICTED, SUPPORTED, UNDECIDED, Claim, Finding, effect_text
from fairexp.experiments.results import Results
from fairexp.experiments.summaries import Comparison, Table, choices_table, failures_table, groups_table, place_text
from fairexp.experiments.writing import SHOWN, setting_rows, verdict_counts

MARKS = {SUPPORTED: "✓", CONTRADICTED: "✗", UNDECIDED: "?"}
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
        _claims(results, findings),
        *(_setting(results, setting, comparisons, specs) for setting in results.settings),
        _further(results, specs),
        _appendix(results),
    ]
    parts = {
        "title": escape(title),
        "body": "\n".join(body),
        "specs": _in_script(json.dumps(dict(specs))),
        "dark": _in_script(json.dumps(DARK)),
        "vega": _in_script(vl_convert().javascript_bundle()),
    }
    return _filled(files("fairexp.experiments").joinpath("page.html").read_text(encoding="utf-8"), parts)


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
    lead = f'<div class="lead">{_paragraphs(lines)}</div>'
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
    return lead + (f'<div class="warn">{_paragraphs(warnings)}</div>' if warnings else "")


def _navigation(results: Results) -> str:
    links = [f'<a href="#{anchor(setting)}">{escape(setting)}</a>' for setting in results.settings]
    ends = (
        '<a href="#claims">Claims</a>',
        '<a href="#further">Tolerances and violations</a> <a href="#made">How made</a>',
    )
    return f"<nav>{ends[0]} {' '.join(links)} {ends[1]}</nav>"


def _claims(results: Results, findings: Sequence[Finding]) -> str:
    """A matrix of verdicts to grasp at once, then every judgement with its effect."""
    settings = [one for one in findings if one.claim.where == "setting"]
    groupings = [one for one in findings if one.claim.where != "setting"]
    parts = [
        '<h2 id="claims">Claims</h2>',
        '<p class="note">✓ supported, ✗ contradicted, ? undecided: at 5%, two-sided, over (seed, fold) pairs, p-values '
        "corrected after Holm for all tests of a claim. Intervals are 95% each. Columns marked ° are synthetic.</p>",
        _matrix(results, settings),
        _matrix(results, groupings),
        "<details><summary>Every judgement with its effect</summary>",
        _detail_table(results, findings),
        "</details>",
    ]
    return "\n".join(parts)


def _matrix(results: Results, findings: Sequence[Finding]) -> str:
    if not findings:
        return ""
    places = list(dict.fromkeys(one.place for one in findings))
    claims: dict[str, Claim] = {one.claim.id: one.claim for one in findings}
    by_place = {(one.claim.id, one.place): one for one in findings}
    synthetic = {row["data"] for row in results.overview["folds"] if row["synthetic"]}
    heads = "".join(
        f"<th>{escape(_short(place))}{'°' if _data_of(place) in synthetic else ''}</th>" for place in places
    )
    rows = []
    for claim in claims.values():
        cells = []
        for place in places:
            one = by_place.get((claim.id, place))
            if one is None:
                cells.append("<td></td>")
                continue
            told = escape(
                f"{place_text(results, place)}: {one.verdict}; {one.part.name}: {effect_text(one.part)}", True
            )
            cells.append(f'<td class="{one.verdict}" title="{told}">{MARKS[one.verdict]}</td>')
        rows.append(f'<tr><th scope="row">{escape(claim.statement)}</th>{"".join(cells)}</tr>')
    head = f"<thead><tr><th>finding of the paper</th>{heads}</tr></thead>"
    return f'<div class="scroll"><table class="matrix">{head}<tbody>{"".join(rows)}</tbody></table></div>'


def _detail_table(results: Results, findings: Sequence[Finding]) -> str:
    headings = (
        "finding of the paper",
        "where",
        "verdict",
        "effect and 95% interval",
        "of",
        "decided by",
        "p (Holm)",
        "n",
    )
    rows = []
    for one in findings:
        p = "-" if one.p is None else f"{one.p:.2g}"
        cells = [
            place_text(results, one.place),
            one.verdict,
            effect_text(one.part),
            one.claim.measure,
            one.part.name,
            p,
        ]
        texts = "".join(f"<td>{escape(cell)}</td>" for cell in [*cells, f"{one.part.effect.n:,}"])
        rows.append(f'<tr class="{one.verdict}"><td class="text">{escape(one.claim.statement)}</td>{texts}</tr>')
    head = "".join(f"<th>{heading}</th>" for heading in headings)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'


def _setting(results: Results, setting: str, comparisons: Sequence[Comparison], charts: Mapping[str, Any]) -> str:
    figures = [name for name in charts if name.startswith(f"{anchor(setting)}-panel-")]
    headings = ["ranker", *(heading.lower() for _, heading, _ in SHOWN)]
    pairs = len({run.pair for run in results.main if run.setting == setting})
    base = comparisons[0].reference if comparisons else "-"
    note = (
        f"Means over {pairs} (seed, fold) pair{'s' if pairs != 1 else ''} with 95% intervals; bands in the charts "
        f"are the same. * differs from {base}: paired t-test, p < .05 after Holm over the whole report (** .01, "
        "*** .001)."
    )
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
    listed = "".join(f"<dt>{escape(term)}</dt><dd>{escape(text)}</dd>" for term, text in facts)
    import yaml

    spec = yaml.safe_dump(overview["experiment"], sort_keys=False, allow_unicode=True)
    parts = [
        f'<h2 id="made">How this was made</h2><dl>{listed}</dl>',
        "<h3>Groups and data fingerprints</h3>" + _plain(groups_table(results)),
        "<details><summary>Chosen parameters</summary>" + _plain(choices_table(results)) + "</details>",
        _exposures(results),
        f"<details><summary>The experiment</summary><pre>{escape(spec)}</pre></details>",
    ]
    if overview["notes"]:
        parts.append("<h3>Notes</h3>" + _paragraphs(overview["notes"]))
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


def table_html(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of text whose first column names the row."""
    head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
    lines = []
    for first, *others in rows:
        emphasis = ' class="fair"' if first.lower().startswith("fairexp") else ""
        cells = "".join(f"<td>{escape(cell)}</td>" for cell in others)
        lines.append(f'<tr{emphasis}><th scope="row">{escape(first)}</th>{cells}</tr>')
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{"".join(lines)}</tbody></table></div>'


def _figures(names: Sequence[str]) -> str:
    return '<div class="charts">' + "".join(f'<figure id="{escape(name)}"></figure>' for name in names) + "</div>"


def _paragraphs(lines: Iterable[str]) -> str:
    return "".join(f"<p>{escape(line)}</p>" for line in lines)


def _short(place: str) -> str:
    return place.replace("|", " / ") if "|" in place else place


def _data_of(place: str) -> str:
    return place.split("|")[0] if "|" in place else place.rpartition("/")[0]


def _in_script(text: str) -> str:
    """Text that cannot end the script element it stands in."""
    return text.replace("</script", r"\u003c/script").replace("<!--", r"\u003c!--")


def _filled(page: str, parts: Mapping[str, str]) -> str:
    """The page with its places filled in one pass, so that nothing in a part can pass for a place."""
    first, *pieces = page.split("{{")
    filled = [first]
    for piece in pieces:
        name, _, rest = piece.partition("}}")
        filled += [parts[name], rest]
    return "".join(filled)
