from __future__ import annotations

import json
import re
import sys
from html.parser import HTMLParser

import pytest

from fairexp.charts import Fact, Manner, charts, online_chart, report_html
from fairexp.errors import MissingExtraError

ROWS = [
    {
        "ranker": ranker,
        "user": "perfect",
        "seed": 0,
        "round": at,
        "mean online nDCG@10": 0.4,
        "held-out nDCG@10": 0.5,
        "UF": 1.0,
        "max UF": 1.0,
    }
    for ranker in ("pairrank", "fairexp-pairrank")
    for at in range(1, 50)
]


class Links(HTMLParser):
    """Collects everything that a browser would fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.found += [str(value) for name, value in attrs if name in ("src", "href", "srcset", "data", "poster")]


@pytest.fixture(scope="module")
def page() -> str:
    return report_html(
        title="Fair & <quick>",
        lead=["One sentence.", "Another, with </script> in it."],
        charts={theme: charts(ROWS, Manner(theme)) for theme in ("light", "dark")},
        headings=["ranker", "online NDCG"],
        table=[["PairRank", "1.0"], ["FairExp-PairRank", "<2.0>"]],
        facts=[Fact("Term", "What it means.")],
    )


def test_nothing_is_fetched(page: str) -> None:
    links = Links()
    links.feed(page)
    assert links.found == []
    assert {"link", "iframe", "img", "object", "embed"}.isdisjoint(links.tags)
    assert not re.search(
        r"@import|url\(\s*['\"]?https?:|(?:src|href)\s*=\s*['\"]?https?:", page.partition("<script")[0]
    )
    assert "default-src 'none'" in page


def test_both_themes_of_all_charts_are_inside(page: str) -> None:
    found = re.search(r'<script type="application/json" id="specs">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    specs = json.loads(found[1])
    assert {theme: list(made) for theme, made in specs.items()} == {
        theme: ["online-ndcg", "heldout-ndcg", "unfairness"] for theme in ("light", "dark")
    }
    for name in specs["light"]:
        assert f'<figure id="{name}"><noscript><svg' in page
    assert "vegaEmbed" in page and "prefers-color-scheme: dark" in page and "width=device-width" in page


def test_text_is_escaped_and_every_place_is_filled(page: str) -> None:
    assert "<title>Fair &amp; &lt;quick&gt;</title>" in page and "&lt;2.0&gt;" in page
    assert "with &lt;/script&gt; in it" in page
    assert "{{" not in page.partition("<script")[0]
    assert page.count("</script>") == 3
    assert '<tr class="fair"><th scope="row">FairExp-PairRank' in page


def test_without_the_extra_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'fairexp\[charts\]'"):
        online_chart(ROWS)
