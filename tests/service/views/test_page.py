"""The page in a real Chromium: live, honest, by keyboard, on a phone and in the dark."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from fairexp.service.http.keys import make_key
from fairexp.service.store import open_store
from tests.service.live import Live
from tests.service.policies.test_constraints import body, policy
from tests.service.worlds import rank_body
from tests.waiting import SECONDS

Start = Callable[..., Live]
CHARTS = (
    *("unfairness", "exposure", "qualified", "regret", "cost", "learning", "clicks", "weights", "reliability"),
    "latency",
)
MILLISECONDS = 1000 * SECONDS
PHONE = {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark", "has_touch": True}


def chromium_path() -> str:
    """Where a Chromium is; without one, tests are skipped, but not in CI."""
    found = os.environ.get("FAIREXP_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        if os.environ.get("CI") == "true":
            pytest.fail("no Chromium: install Debian's package `chromium`, or set FAIREXP_CHROMIUM")
        pytest.skip("no Chromium here")
    return found


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    path = chromium_path()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"], timeout=MILLISECONDS)
        yield chromium
        chromium.close()


class Visit:
    """A page, with everything that went wrong and everything that was asked for."""

    def __init__(self, browser: Any, url: str, **options: Any) -> None:
        self._context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        self._context.set_default_timeout(MILLISECONDS)
        self.page = self._context.new_page()
        self.problems: list[str] = []
        self.asked: list[str] = []
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("console", self._noted)
        self.url = url
        self.page.goto(url)

    def texts(self, selector: str) -> list[str]:
        """What stands in each of these elements, read at one moment: the page may draw them anew at any other."""
        script = "selector => [...document.querySelectorAll(selector)].map(element => element.innerText)"
        return list(self.page.evaluate(script, selector))

    def boxes(self, *selectors: str) -> list[dict[str, float]]:
        """Where the first element of each selector stands, all at one moment."""
        script = "selectors => selectors.map(each => document.querySelector(each).getBoundingClientRect().toJSON())"
        return list(self.page.evaluate(script, selectors))

    def _noted(self, message: Any) -> None:
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.problems.append(message.text)

    def close(self) -> None:
        self._context.close()
        assert self.problems == []
        assert all(url.startswith((self.url, "data:")) for url in self.asked), "something came from elsewhere"


def play(client: httpx.Client, rounds: int, start: int = 0) -> None:
    for number in range(start, start + rounds):
        ranked = client.post("/v1/policies/shop/rank", json=rank_body(number)).json()
        client.post("/v1/feedback", json={"ranking_id": ranked["ranking_id"], "events": [{"position": 1 + number % 3}]})


def drawn_values(chart: dict[str, Any]) -> list[dict[str, Any]]:
    """The data of a chart of bars."""
    return list(chart["data"]["values"])


def test_it_is_honest_before_there_is_anything_and_comes_alive(live: Start, sqlite_address: str, browser: Any) -> None:
    running = live(sqlite_address)
    visit = Visit(browser, running.url)
    visit.page.wait_for_selector("#empty:has-text('has not ranked anything yet')")
    assert not visit.page.is_visible("#charts-title")
    play(running.client, 12)
    for name in CHARTS:
        visit.page.wait_for_selector(f"#chart-{name} svg")
    assert visit.page.locator("#charts figure").count() == len(CHARTS)
    assert visit.page.locator("#rankings li").count() == 12
    assert visit.page.locator("#rankings li").first.locator("rect.position").count() == 4
    numbers = visit.page.inner_text("#numbers")
    assert "rankings\n12" in numbers and "100.0 %" in numbers
    play(running.client, 3, start=12)
    visit.page.wait_for_selector("#numbers dd:text-is('15')")
    visit.close()


def test_every_ranking_explains_itself_by_keyboard(live: Start, sqlite_address: str, browser: Any) -> None:
    running = live(sqlite_address)
    play(running.client, 8)
    latest = running.client.get("/v1/policies/shop/rankings").json()["rankings"]
    moved = next(each for each in latest if any(move["drawn_at"] > move["position"] for move in each["moved"]))
    told = running.client.get(f"/v1/policies/shop/rankings/{moved['ranking_id']}").json()
    visit = Visit(browser, running.url)
    button = visit.page.locator(f"[data-ranking='{moved['ranking_id']}'] button")
    button.wait_for()
    risen = [move for move in moved["moved"] if move["drawn_at"] > move["position"]]
    assert button.locator("path.arrow").count() == button.locator("path.head").count() == len(risen)
    assert button.locator("line.block").count() >= 1
    button.focus()
    visit.page.keyboard.press("Enter")
    visit.page.wait_for_selector("dialog[open]")
    assert visit.texts("#why-words li") == told["explanation"]["summary"]
    rows = [line.split("\t") for line in visit.texts("#why-items tbody tr")]
    assert [int(cells[1].split()[0]) for cells in rows] == [item["drawn_at"] for item in told["items"]]
    features = {each["feature"] for item in told["items"] for each in item["contributions"]}
    assert features == {"relevance", "freshness", "price"}
    assert any(name in cells[5] for cells in rows for name in features)
    visit.page.keyboard.press("Escape")
    visit.page.wait_for_selector("dialog:not([open])", state="attached")
    visit.close()


def test_it_says_what_one_sees_and_what_would_be_without_it(live: Start, sqlite_address: str, browser: Any) -> None:
    running = live(sqlite_address)
    play(running.client, 30)
    told = running.client.get("/v1/policies/shop/fairness").json()
    visit = Visit(browser, running.url)
    visit.page.wait_for_selector("#story:has-text('small and large')")
    story = visit.page.inner_text("#story")
    assert f"would be {told['largest_gap_as_drawn']:.1f}" in story and f"is {told['largest_gap']:.3f} now" in story
    cards = dict(zip(*[visit.texts(f"#numbers {name}") for name in ("dt", "dd")], strict=True))
    cost = 1 - told["expected_clicks"] / told["expected_clicks_as_drawn"]
    assert cards["gap without fairness"] == f"{told['largest_gap_as_drawn']:.3f}"
    assert cards["clicks given up"] == f"{100 * cost:.1f} %"
    first = visit.page.locator("#constraints tbody tr").first.inner_text().split("\t")
    small, large = told["groups"]
    would = small["exposure_as_drawn"] / (small["exposure_as_drawn"] + large["exposure_as_drawn"])
    assert first[:3] == ["groups", "small", "50.0 %"] and first[4] == f"{100 * would:.1f} %"
    visit.close()


def test_every_word_has_its_definition_at_hand(live: Start, sqlite_address: str, browser: Any) -> None:
    """By keyboard and by mouse; Escape puts it away, and a refresh does not."""
    running = live(sqlite_address)
    play(running.client, 6)
    visit = Visit(browser, running.url)
    visit.page.wait_for_selector("#chart-latency svg")
    terms = visit.page.locator("main [data-definition]")
    assert terms.count() >= 8 + 7 + len(CHARTS)
    for number in range(terms.count()):
        assert len(terms.nth(number).get_attribute("data-definition")) > 30
        terms.nth(number).focus()
        assert visit.page.inner_text("#definition") == terms.nth(number).get_attribute("data-definition")
        box = visit.page.locator("#definition").bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= 1280 and box["y"] >= 0 and box["y"] + box["height"] <= 900
    visit.page.keyboard.press("Escape")
    visit.page.wait_for_selector("#definition", state="hidden")
    visit.page.locator("#numbers .term").first.focus()
    play(running.client, 1, start=6)
    visit.page.wait_for_selector("#numbers dd:text-is('7')")
    assert visit.page.is_visible("#definition")
    assert visit.page.evaluate("document.activeElement.className") == "term"
    visit.close()


def test_a_range_of_time_or_rankings_can_be_chosen(live: Start, sqlite_address: str, browser: Any) -> None:
    running = live(sqlite_address)
    play(running.client, 120)
    visit = Visit(browser, running.url)
    visit.page.wait_for_selector("#numbers dd:text-is('120')")
    visit.page.select_option("#range", "rounds=100")
    visit.page.wait_for_selector("#numbers dd:text-is('100')")
    visit.page.select_option("#range", "seconds=3600")
    visit.page.wait_for_selector("#numbers dd:text-is('120')")
    visit.page.wait_for_selector("#chart-latency svg")
    assert any("charts?theme=light&rounds=100" in url for url in visit.asked)
    charts = running.client.get("/v1/policies/shop/charts?rounds=100").json()["charts"]
    drawn = drawn_values(charts["learning"])
    assert [drawn[0]["round"], drawn[-1]["round"]] == [21, 120]
    visit.close()


def test_a_query_and_a_ranking_can_be_found(live: Start, sqlite_address: str, browser: Any) -> None:
    running = live(sqlite_address)
    play(running.client, 20)
    play(running.client, 1, start=3)
    wanted = running.client.get("/v1/policies/shop/rankings?query_id=q3").json()["rankings"]
    assert [each["query_id"] for each in wanted] == ["q3", "q3"]
    visit = Visit(browser, running.url)
    visit.page.wait_for_selector("#rankings li")
    visit.page.fill("#wanted", "q3")
    visit.page.keyboard.press("Enter")
    visit.page.wait_for_selector("#found:has-text('of the query q3')")
    shown = [item.get_attribute("data-ranking") for item in visit.page.locator("#rankings li").all()]
    assert shown == [each["ranking_id"] for each in wanted]
    visit.page.fill("#wanted", wanted[1]["ranking_id"])
    visit.page.keyboard.press("Enter")
    visit.page.wait_for_selector("#found:has-text('of this id')")
    assert visit.page.locator("#rankings li").count() == 1
    visit.page.fill("#wanted", "<b>nobody</b>")
    visit.page.keyboard.press("Enter")
    visit.page.wait_for_selector("#found:has-text('No query or ranking is called <b>nobody</b>')")
    visit.page.click("#latest")
    visit.page.wait_for_selector("#rankings li:nth-child(12)")
    visit.close()


@pytest.mark.parametrize("width", [1280, 900, 390])
def test_charts_are_of_one_height_and_fill_their_rows(
    live: Start, sqlite_address: str, browser: Any, width: int
) -> None:
    running = live(sqlite_address)
    play(running.client, 5)
    visit = Visit(browser, running.url, viewport={"width": width, "height": 900})
    visit.page.wait_for_selector("#chart-latency svg")
    assert len({round(box["height"]) for box in visit.boxes(*[f"#chart-{name} svg" for name in CHARTS])}) == 1
    whole, *boxes = visit.boxes("#charts", *[f"#chart-{name}" for name in CHARTS])
    rows: dict[int, float] = {}
    for box in boxes:
        rows[round(box["y"])] = max(rows.get(round(box["y"]), 0.0), box["x"] + box["width"])
    assert all(right == pytest.approx(whole["x"] + whole["width"], abs=2) for right in rows.values())
    visit.close()


def test_several_constraints_have_each_a_ledger_and_charts(live: Start, sqlite_address: str, browser: Any) -> None:
    running = live(sqlite_address, policies={"shop": policy()})
    for number in range(8):
        running.client.post("/v1/policies/shop/rank", json=body(number, pinned={"d3": 2}))
    visit = Visit(browser, running.url)
    for name in ("unfairness", "exposure", "unfairness-1", "exposure-1"):
        visit.page.wait_for_selector(f"#chart-{name} svg")
    rows = [line.split("\t") for line in visit.texts("#constraints tbody tr")]
    assert [row[:3] for row in rows] == [
        ["provider", "small", "50.0 %"],
        ["", "large", "50.0 %"],
        ["type", "news", "66.7 %"],
        ["", "video", "33.3 %"],
    ]
    assert [row[7:] for row in rows] == [["0.6", "100.0 %"], ["", ""], ["1", "100.0 %"], ["", ""]]
    assert "small" in visit.page.inner_text("#legend") and "within tolerance" in visit.page.inner_text("#numbers")
    assert "by provider, and 1 more" in visit.page.inner_text("#story")
    visit.page.locator("#rankings button").first.click()
    visit.page.wait_for_selector("dialog[open]")
    told = [line.split("\t") for line in visit.texts("#why-constraints tbody tr")]
    assert [(row[0], row[4], row[5]) for row in told] == [("provider", "0.6", "yes"), ("type", "1", "yes")]
    assert "large, news" in visit.page.inner_text("#why-items") or "large, video" in visit.page.inner_text("#why-items")
    visit.close()


def test_it_refreshes_without_flicker_and_without_taking_the_focus_away(
    live: Start, sqlite_address: str, browser: Any
) -> None:
    running = live(sqlite_address)
    play(running.client, 6)
    visit = Visit(browser, running.url)
    visit.page.wait_for_selector("#chart-latency svg")
    visit.page.locator("#rankings button").nth(3).focus()
    # In the page: note every moment at which a chart is empty, and mark what is there now.
    visit.page.evaluate(
        """() => {
            window.empty = 0;
            new MutationObserver(() => {
                const figures = [...document.querySelectorAll("#charts figure")];
                window.empty += figures.filter((figure) => !figure.querySelector("svg")).length;
            }).observe(document.querySelector("#charts"), { childList: true, subtree: true });
            document.querySelector("#chart-clicks svg").id = "old";
            window.focused = document.activeElement;
        }"""
    )
    play(running.client, 2, start=6)
    visit.page.wait_for_selector("#numbers dd:text-is('8')")
    visit.page.wait_for_selector("#old", state="detached")
    assert visit.page.evaluate("window.empty") == 0
    assert visit.page.evaluate("document.activeElement === window.focused && window.focused.isConnected")
    visit.close()


def test_it_says_when_the_server_is_gone(live: Start, sqlite_address: str, browser: Any) -> None:
    running = live(sqlite_address)
    play(running.client, 3)
    visit = Visit(browser, running.url)
    visit.page.wait_for_selector("#status:has-text('Live')")
    running.stop()
    visit.page.wait_for_selector("#status.gone:has-text('does not answer since')")
    assert visit.page.locator("#rankings li").count() == 3, "what was known stays"
    visit.close()


def test_it_fits_a_phone_in_the_dark(live: Start, sqlite_address: str, browser: Any) -> None:
    running = live(sqlite_address)
    play(running.client, 5)
    visit = Visit(browser, running.url, **PHONE)
    visit.page.wait_for_selector("#chart-clicks svg")
    visit.page.wait_for_selector("#legend span")
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= 390
    assert visit.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(22, 25, 29)"
    assert any("charts?theme=dark" in url for url in visit.asked)
    visit.page.tap("#rankings button")
    visit.page.wait_for_selector("dialog[open]")
    visit.close()


@pytest.mark.parametrize("width", [1280, 390, 320])
def test_no_label_of_a_ranking_touches_another(live: Start, sqlite_address: str, browser: Any, width: int) -> None:
    """Three documents from far beyond the end: each arrow is named, and no name lies on another or is cut off."""
    visit = Visit(browser, live(sqlite_address).url, viewport={"width": width, "height": 900})
    visit.page.wait_for_selector("#empty:has-text('has not ranked anything yet')")
    groups = ["small", "large"]
    items = [{"position": p, "group": groups[p % 2], "block": p, "clicked": True} for p in range(1, 11)]
    moved = [{"position": p, "drawn_at": at} for p, at in ((1, 11), (3, 12), (4, 7), (10, 1234))]
    boxes = visit.page.evaluate(
        """([ranking, groups]) => {
            const list = document.querySelector("#rankings"), item = element("li");
            find("main").querySelectorAll("section").forEach((section) => { section.hidden = false; });
            item.append(drawRanking(ranking, groups, list.clientWidth));
            list.append(item);
            const edges = ({ left, right, top, bottom }) => ({ left, right, top, bottom });
            return [item.firstChild, ...item.querySelectorAll("text")].map((one) => edges(one.getBoundingClientRect()));
        }""",
        [{"items": items, "moved": moved}, groups],
    )
    whole, *labels = boxes
    assert len(labels) == 10 + 10 + 3
    for number, one in enumerate(labels):
        assert whole["left"] <= one["left"] and one["right"] <= whole["right"] <= width and whole["top"] <= one["top"]
        for other in labels[number + 1 :]:
            apart = one["right"] <= other["left"] or other["right"] <= one["left"]
            # A line is a little higher than its letters, hence the two pixels.
            assert apart or one["bottom"] <= other["top"] + 2 or other["bottom"] <= one["top"] + 2, (one, other)
    visit.close()


def test_it_asks_for_a_key_where_one_is_needed(live: Start, sqlite_address: str, browser: Any) -> None:
    store = open_store(sqlite_address)
    store.open(serving=False)
    _, token = make_key(store, name="viewer", roles=["read"])
    store.close()
    running = live(sqlite_address, open=False)
    visit = Visit(browser, running.url)
    visit.page.wait_for_selector("#key-form", state="visible")
    visit.page.fill("#key", "fx_wrong")
    visit.page.keyboard.press("Enter")
    visit.page.wait_for_selector("#key-problem:has-text('does not accept')")
    assert visit.page.is_visible("#key-form")
    visit.page.fill("#key", token)
    visit.page.keyboard.press("Enter")
    visit.page.wait_for_selector("#empty:has-text('has not ranked anything yet')")
    assert not visit.page.is_visible("#key-form")
    visit.close()
