"""What every HTML page shares: its head, base styles in the charts' colours, tables, and places that parts fill."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files

from fairexp.charts.style import COLOURS, FAIR_COLOURS, GRID, INK, MUTED, PAPER

TINT = {"light": "#eef5fa", "dark": "#1b2a35"}
VARIABLES = {"paper": PAPER, "ink": INK, "muted": MUTED, "rule": GRID, "fair": FAIR_COLOURS, "tint": TINT}
"""Colours by the names that styles know them by."""

SEALED = (
    '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
    "script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data:\">"
)
"""Nothing may be fetched: all that a report needs is inside."""


def page_head(title: str, *, report: bool) -> str:
    """The beginning of a page up to its own styles: a `report` is one file that fetches nothing."""
    sheets = ["base.css", "report.css"] if report else ["base.css"]
    styles = filled("\n".join(map(_text, sheets)), {theme: _variables(theme) for theme in ("light", "dark")})
    parts = {"title": escape(title), "policy": SEALED if report else "", "styles": styles.rstrip()}
    return filled(_text("head.html"), parts)


def filled(page: str, parts: Mapping[str, str]) -> str:
    """The page with its places filled in one pass, so that nothing in a part can pass for a place.

    >>> filled("<h1>{{title}}</h1>{{body}}", {"title": "{{body}}", "body": "x"})
    '<h1>{{body}}</h1>x'
    """
    first, *pieces = page.split("{{")
    done = [first]
    for piece in pieces:
        name, _, rest = piece.partition("}}")
        done += [parts[name], rest]
    return "".join(done)


def in_script(text: str) -> str:
    """Text that cannot end the script element it stands in; the escape reads as `<` in JSON and JavaScript strings."""
    return text.replace("</script", r"\u003c/script").replace("<!--", r"\u003c!--")


def table_html(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of text whose first column names the row; FairExp's is emphasised."""
    head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
    lines = []
    for first, *others in rows:
        emphasis = ' class="fair"' if first.lower().startswith("fairexp") else ""
        cells = "".join(f"<td>{escape(cell)}</td>" for cell in others)
        lines.append(f'<tr{emphasis}><th scope="row">{escape(first)}</th>{cells}</tr>')
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{"".join(lines)}</tbody></table></div>'


def paragraphs(lines: Iterable[str]) -> str:
    """A paragraph for each line of text."""
    return "".join(f"<p>{escape(line)}</p>" for line in lines)


def terms(facts: Iterable[tuple[str, str]]) -> str:
    """A list of terms with what is said of each."""
    return "".join(f"<dt>{escape(term)}</dt><dd>{escape(text)}</dd>" for term, text in facts)


def _variables(theme: str) -> str:
    groups = {f"g{number}": colour for number, colour in enumerate(COLOURS)}
    named = {**{name: colours[theme] for name, colours in VARIABLES.items()}, **groups}
    return " ".join(f"--{name}: {colour};" for name, colour in named.items())


def _text(name: str) -> str:
    return files("fairexp.charts").joinpath(name).read_text(encoding="utf-8")
