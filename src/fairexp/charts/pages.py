"""HTML pages from templates, in the charts' colours; every text is escaped unless a template calls it safe."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from typing import Any

from fairexp.charts.extra import jinja2
from fairexp.charts.style import COLOURS, FAIR_COLOURS, GRID, INK, MUTED, PAPER

TINT = {"light": "#eef5fa", "dark": "#1b2a35"}
VARIABLES = {"paper": PAPER, "ink": INK, "muted": MUTED, "rule": GRID, "fair": FAIR_COLOURS, "tint": TINT}
"""Colours by the names that styles know them by."""


def render(template: str, **values: Any) -> str:
    """The page that a template makes of `values`; it is named by its path in the package, as "charts/report.html"."""
    page: str = _environment().get_template(template).render(values)
    return page


def in_script(text: str) -> str:
    """Text that cannot end the script element it stands in; the escape reads as `<` in JavaScript strings."""
    return text.replace("</script", r"\u003c/script").replace("<!--", r"\u003c!--")


@lru_cache
def _environment() -> Any:
    library = jinja2()
    made = library.Environment(
        loader=library.FunctionLoader(_source),
        autoescape=True,
        undefined=library.StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals["colours"] = {theme: _variables(theme) for theme in ("light", "dark")}
    made.filters["in_script"] = in_script
    made.policies["json.dumps_kwargs"] = {}  # in the order given
    return made


def _source(template: str) -> str:
    folder, _, name = template.rpartition("/")
    return files(f"fairexp.{folder.replace('/', '.')}").joinpath(name).read_text(encoding="utf-8")


def _variables(theme: str) -> str:
    groups = {f"g{number}": colour for number, colour in enumerate(COLOURS)}
    named = {**{name: colours[theme] for name, colours in VARIABLES.items()}, **groups}
    return " ".join(f"--{name}: {colour};" for name, colour in named.items())
