"""The report: one HTML file with its scripts inside, that needs no network and follows light and dark."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any, NamedTuple

from fairexp.charts.extra import vl_convert
from fairexp.charts.pages import filled, in_script, page_head, paragraphs, table_html, terms


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
        "head": page_head(title, report=True),
        "title": escape(title),
        "lead": paragraphs(lead),
        "figures": "\n".join(figures),
        "table": table_html(headings, table),
        "facts": terms(facts),
        "specs": in_script(json.dumps(specs)),
        "vega": in_script(converter.javascript_bundle()),
    }
    return filled(files("fairexp.charts").joinpath("report.html").read_text(encoding="utf-8"), parts)
