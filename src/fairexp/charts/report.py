"""The report: one HTML file with its scripts inside, that needs no network and follows light and dark."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any, NamedTuple

from fairexp.charts.extra import vl_convert


class Fact(NamedTuple):
    """A term and what it means, or how the runs were made."""

    term: str
    text: str


def report_html(
    *,
    title: str,
    lead: Sequence[str],
    charts: Mapping[str, Mapping[str, Any]],
    headings: Sequence[str],
    table: Sequence[Sequence[str]],
    facts: Sequence[Fact],
) -> str:
    """The page. `charts` holds the same charts by name under "light" and "dark"; the table's cells are text."""
    converter = vl_convert()
    specs = {
        theme: {name: chart.to_dict(validate=False) for name, chart in made.items()} for theme, made in charts.items()
    }
    figures = [
        f'<figure id="{escape(name)}"><noscript>{converter.vegalite_to_svg(spec)}</noscript></figure>'
        for name, spec in specs["light"].items()
    ]
    parts = {
        "title": escape(title),
        "lead": "\n".join(f"<p>{escape(sentence)}</p>" for sentence in lead),
        "figures": "\n".join(figures),
        "headings": "".join(f"<th>{escape(heading)}</th>" for heading in headings),
        "rows": "\n".join(_row(cells) for cells in table),
        "facts": "\n".join(f"<dt>{escape(fact.term)}</dt><dd>{escape(fact.text)}</dd>" for fact in facts),
        "specs": _in_script(json.dumps(specs)),
        "vega": _in_script(converter.javascript_bundle()),
    }
    page = files("fairexp.charts").joinpath("report.html").read_text(encoding="utf-8")
    # In one pass, so that nothing in the scripts can pass for a place to fill.
    pieces = page.split("{{")
    filled = [pieces[0]]
    for piece in pieces[1:]:
        name, _, rest = piece.partition("}}")
        filled += [parts[name], rest]
    return "".join(filled)


def _row(cells: Sequence[str]) -> str:
    first, *others = map(escape, cells)
    emphasis = ' class="fair"' if first.lower().startswith("fairexp") else ""
    return f'<tr{emphasis}><th scope="row">{first}</th>{"".join(f"<td>{cell}</td>" for cell in others)}</tr>'


def _in_script(text: str) -> str:
    """Text that cannot end the script element it stands in; the escape reads as `<` in JSON and JavaScript strings."""
    return text.replace("</script", r"\u003c/script").replace("<!--", r"\u003c!--")
