"""The claims in the report: how they are decided, a matrix of verdicts, and every judgement with its effect."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from fairexp.experiments.claims.groupings import groupings_at
from fairexp.experiments.claims.judgement import CONTRADICTED, SUPPORTED, UNDECIDED, Claim, Finding, effect_text
from fairexp.experiments.claims.paper import CLAIMS, rules
from fairexp.experiments.claims.results import Results
from fairexp.experiments.report.tables import place_text

MARKS = {SUPPORTED: "✓", CONTRADICTED: "✗", UNDECIDED: "?"}
RULE = (
    "Rankers are compared run by run: the same queries, and the same coins of the users. The unit is the fold, "
    "whose value is the mean over its seeds; where a data set has one fold, the unit is the seed, and verdicts "
    "speak for that data alone. Each comparison is a two-sided paired t-test at 5%, of differences, or for "
    "unfairness of logarithms of ratios; p-values are corrected after Holm for all tests of a claim in all "
    "settings. A claim is supported (✓) where all its comparisons are significant in its favour, contradicted (✗) "
    "where one is significant against it, and else undecided (?). Intervals are 95% each, not corrected. Folds of "
    "a collection share training queries, so that intervals are somewhat too narrow for other collections."
)


def claims_section(results: Results, findings: Sequence[Finding]) -> str:
    """The rules, a matrix of verdicts to grasp at once, then every judgement with its effect."""
    settings = [one for one in findings if one.claim.where == "setting"]
    groupings = [one for one in findings if one.claim.where != "setting"]
    contradicted = [one for one in findings if one.verdict == CONTRADICTED]
    parts = [
        '<h2 id="claims">Claims</h2>',
        f'<p class="note">{RULE}</p>',
        _rules(results),
        _matrix(results, settings),
        _matrix(results, groupings),
        _not_judged(findings),
    ]
    if contradicted:
        parts += ["<h3>Where the paper is contradicted</h3>", _detail_table(results, contradicted)]
    parts += [
        "<details><summary>Every judgement with its effect</summary>",
        _detail_table(results, findings),
        "</details>",
    ]
    return "\n".join(parts)


def _rules(results: Results) -> str:
    """What decides each claim; a change since the first run is told."""
    before = results.overview.get("rules")
    told = "as written down before the first run" if before == rules() else "changed since the first run"
    rows = "".join(
        f'<tr><td class="text">{escape(claim.statement)}</td><td class="text">{escape(claim.measure)}</td>'
        f'<td class="text">{escape(claim.rule)}</td></tr>'
        for claim in CLAIMS
    )
    heads = "".join(f'<th class="left">{one}</th>' for one in ("finding of the paper", "measure", "what is compared"))
    table = (
        f'<div class="scroll"><table class="rules"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>'
    )
    return f"<details><summary>What decides each claim ({told})</summary>{table}</details>"


def _not_judged(findings: Sequence[Finding]) -> str:
    """Claims that this experiment says nothing about."""
    judged = {one.claim.id for one in findings}
    left = [claim for claim in CLAIMS if claim.id not in judged]
    if not left:
        return ""
    need = {"setting": "rankers or tolerances that are not part of it", "groupings": "two groupings of the same data"}
    items = "".join(f"<li>{escape(claim.statement)} (needs {need[claim.where]})</li>" for claim in left)
    return f'<div class="note"><p>Not judged by this experiment:</p><ul>{items}</ul></div>'


def _matrix(results: Results, findings: Sequence[Finding]) -> str:
    if not findings:
        return ""
    places = list(dict.fromkeys(one.place for one in findings))
    claims: dict[str, Claim] = {one.claim.id: one.claim for one in findings}
    by_place = {(one.claim.id, one.place): one for one in findings}
    synthetic = {row["data"] for row in results.overview["folds"] if row["synthetic"]}
    heads = "".join(
        f"<th>{escape(place.replace('|', ' / '))}{'°' if _data_of(place) in synthetic else ''}</th>" for place in places
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
    mark = " (° synthetic data)" if any(_data_of(place) in synthetic for place in places) else ""
    head = f"<thead><tr><th>finding of the paper{mark}</th>{heads}</tr></thead>"
    return f'<div class="scroll"><table class="matrix">{head}<tbody>{"".join(rows)}</tbody></table></div>'


def _detail_table(results: Results, findings: Sequence[Finding]) -> str:
    """A row for each judgement; those of one claim stand together, and the claim is named once."""
    headings = (
        "finding of the paper",
        "where",
        "verdict",
        "effect and 95% interval",
        "decided by",
        "p (Holm)",
        "units",
    )
    bodies = []
    for claim in dict.fromkeys(one.claim for one in findings):
        own = [one for one in findings if one.claim is claim]
        named = f"{escape(claim.statement)}<br><small>{escape(claim.measure)}</small>"
        first = f'<td class="text claim" rowspan="{len(own)}">{named}</td>'
        rows = []
        for one in own:
            p = "-" if one.p is None else "&lt; 0.001" if one.p < 0.001 else f"{one.p:.3f}"
            units = "-" if one.part.exact else str(one.part.effect.units)
            texts = (place_text(results, one.place), one.verdict, effect_text(one.part), one.part.name)
            cells = "".join(f'<td class="left">{escape(text)}</td>' for text in texts)
            rows.append(f'<tr class="{one.verdict}">{first}{cells}<td>{p}</td><td>{units}</td></tr>')
            first = ""
        bodies.append(f"<tbody>{''.join(rows)}</tbody>")
    head = "".join(f'<th class="left">{heading}</th>' for heading in headings)
    return f'<div class="scroll"><table class="detail"><thead><tr>{head}</tr></thead>{"".join(bodies)}</table></div>'


def _data_of(place: str) -> str:
    pair = groupings_at(place)
    return place.rpartition("/")[0] if pair is None else pair.uneven
