from __future__ import annotations

import re
from pathlib import Path

import pytest

import fairexp
from fairexp.charts import pages
from fairexp.charts.pages import VARIABLES, in_script, render

pytest.importorskip("jinja2")
REPORT = {"lead": [], "figures": {}, "headings": [], "rows": [], "facts": [], "specs": {}, "vega": ""}
PAGES = {"charts/report.html": REPORT, "service/views/page/index.html": {}}


@pytest.mark.parametrize("template", PAGES)
def test_every_page_has_the_charts_colours_in_light_and_dark(template: str) -> None:
    head = render(template, title="A & B", **PAGES[template]).partition("</head>")[0]
    assert "<title>A &amp; B</title>" in head and "{{" not in head and "{%" not in head
    light, dark = re.findall(r":root \{ (.*?) \}", head)
    for name, colours in VARIABLES.items():
        assert f"--{name}: {colours['light']};" in light and f"--{name}: {colours['dark']};" in dark
    assert ("default-src 'none'" in head) == (PAGES[template] is REPORT)


@pytest.mark.parametrize("template", PAGES)
def test_styles_name_only_colours_that_there_are(template: str) -> None:
    head = render(template, title="x", **PAGES[template]).partition("</head>")[0]
    assert set(re.findall(r"var\(--(\w+)\)", head)) <= set(re.findall(r"--(\w+):", head))


def test_what_fills_a_place_is_no_place_and_no_place_stays_empty() -> None:
    told = render("charts/report.html", title="{{ 1 + 1 }}{% raw %}", **REPORT)
    assert "<h1>{{ 1 + 1 }}{% raw %}</h1>" in told
    with pytest.raises(Exception, match="'title' is undefined"):
        render("charts/report.html", **REPORT)


def test_text_cannot_break_out() -> None:
    hostile = "</script><!--<b>&\"'"
    told = render(
        "charts/report.html",
        title=hostile,
        lead=[hostile],
        figures={hostile: "<svg></svg>"},
        headings=[hostile],
        rows=[["FairExp" + hostile, hostile], ["Other", hostile]],
        facts=[(hostile, hostile)],
        specs={hostile: hostile},
        vega="const text = '</script><!--';",
    )
    assert "<b>" not in told and "<!--" not in told
    assert told.count("</script>") == 3 and told.count('class="fair"') == 1
    assert in_script("'</script><!--'") == r"'\u003c/script>\u003c!--'" and in_script("'</script><!--'") in told
    assert '<figure id="&lt;/script&gt;&lt;!--&lt;b&gt;&amp;&#34;&#39;"><noscript><svg></svg>' in told


def test_only_drawings_and_scripts_are_called_safe() -> None:
    """Whatever else is put into a page is escaped; a template that calls more safe has to be looked at, and named."""
    root = Path(fairexp.__file__).parent
    found = {
        (path.relative_to(root).as_posix(), place)
        for path in root.rglob("*.html")
        for place in re.findall(r"\{\{[^}]*\|\s*safe[^}]*\}\}", path.read_text(encoding="utf-8"))
    }
    assert found == {
        ("charts/report.html", "{{ drawn | safe }}"),
        ("charts/one_file.html", "{{ vega | in_script | safe }}"),
    }
    assert pages._environment().autoescape is True
