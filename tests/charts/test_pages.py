from __future__ import annotations

import re

import pytest

from fairexp.charts.pages import VARIABLES, filled, in_script, page_head, paragraphs, table_html, terms


@pytest.mark.parametrize("report", [True, False])
def test_every_page_has_the_charts_colours_in_light_and_dark(report: bool) -> None:
    head = page_head("A & B", report=report)
    assert "<title>A &amp; B</title>" in head and "{{" not in head
    light, dark = re.findall(r":root \{ (.*?) \}", head)
    for name, colours in VARIABLES.items():
        assert f"--{name}: {colours['light']};" in light and f"--{name}: {colours['dark']};" in dark
    assert ("default-src 'none'" in head) == report


@pytest.mark.parametrize("report", [True, False])
def test_styles_name_only_colours_that_there_are(report: bool) -> None:
    head = page_head("x", report=report)
    assert set(re.findall(r"var\(--(\w+)\)", head)) <= set(re.findall(r"--(\w+):", head))


def test_what_fills_a_place_is_no_place() -> None:
    assert filled("a{{x}}b{{y}}", {"x": "{{y}}", "y": "z"}) == "a{{y}}bz"
    with pytest.raises(KeyError):
        filled("{{nobody}}", {})


def test_text_cannot_break_out() -> None:
    assert "</script" not in in_script('"</script><!--"') and "<!--" not in in_script('"</script><!--"')
    made = table_html(["<h>"], [["FairExp<1>", "<c>"], ["Other", "&"]]) + paragraphs(["<p>"]) + terms([("<t>", "<x>")])
    assert not re.search("<[htcx1]>", made) and made.count("<p>") == 1 and made.count('class="fair"') == 1
