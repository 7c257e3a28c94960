"""What the page is given: nothing that is not ours, and charts that say what the numbers say."""

from __future__ import annotations

from typing import Any

from fairexp.service.views.page.cache import KEPT_SECONDS, ChartCache
from tests.service.views.test_page import CHARTS, Start, drawn_values, play


def test_nothing_is_served_that_is_not_ours(live: Start, sqlite_address: str) -> None:
    running = live(sqlite_address)
    page = running.client.get("/")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert "http://" not in page.text and "https://" not in page.text
    assert running.client.get("/static/vega.js").headers["content-type"].startswith("text/javascript")
    for name in ("index.html", "charts.py", "..%2fapp.py"):
        assert running.client.get(f"/static/{name}").status_code == 404


def test_the_charts_say_what_the_numbers_say(live: Start, sqlite_address: str) -> None:
    running = live(sqlite_address)
    play(running.client, 20)
    charts = running.client.get("/v1/policies/shop/charts").json()["charts"]
    assert set(charts) == set(CHARTS)
    theta = running.client.get("/v1/policies/shop").json()["theta"]
    drawn = drawn_values(charts["weights"])
    assert [(each["feature"], each["weight"]) for each in drawn] == [
        (each["feature"], each["weight"]) for each in theta["largest"]
    ]
    assert all((each["speaks"] == "for") == (each["weight"] >= 0) for each in drawn)
    assert sum(each["rankings"] for each in drawn_values(charts["latency"])) == 20
    fairness = running.client.get("/v1/policies/shop/fairness").json()
    rates = {each["position"]: each["clicks"] / each["shown"] for each in fairness["clicks_by_position"]}
    assert {each["position"]: each["rate"] for each in drawn_values(charts["clicks"])} == rates


def test_charts_are_made_again_only_when_there_is_something_new_and_time_has_passed() -> None:
    now, made = 0.0, []
    cache = ChartCache(clock=lambda: now)

    def get(rounds: int) -> Any:
        return cache.get(("shop", "light"), 1, rounds, lambda: made.append(rounds) or {"at": rounds})

    assert get(1) == get(2) == {"at": 1}
    now += KEPT_SECONDS
    assert get(1) == {"at": 1} and get(5) == {"at": 5}
    assert made == [1, 5]
