"""The report: one HTML file with its scripts inside, that needs no network and follows light and dark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fairexp.charts.extra import bundle, vl_convert
from fairexp.charts.pages import render


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
    return render(
        "charts/report.html",
        title=title,
        lead=lead,
        figures={name: converter.vegalite_to_svg(spec) for name, spec in specs["light"].items()},
        headings=headings,
        rows=table,
        facts=facts,
        specs=specs,
        vega=bundle(),
    )
