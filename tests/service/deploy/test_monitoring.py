"""Dashboard and alerts ask for nothing that the service does not export, in PromQL that Prometheus accepts."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.service.deploy.names import DEPLOY, metrics_of
from tests.service.live import Live
from tests.service.worlds import rank_body

BOARD = DEPLOY / "grafana" / "fairexp.json"
RULES = DEPLOY / "prometheus" / "fairexp.rules.yml"
SCRAPING = DEPLOY / "prometheus" / "prometheus.yml"
OF_PROMETHEUS = {"instance", "job"}
WORDS = {"and", "or", "unless", "by", "on", "sum", "max", "rate", "increase", "deriv", "histogram_quantile", "vector"}


def board() -> Any:
    return json.loads(BOARD.read_text(encoding="utf-8"))


def panels() -> list[Any]:
    return [panel for panel in board()["panels"] if panel["type"] != "row"]


def alerts() -> list[Any]:
    return [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


def expressions() -> Iterator[tuple[str, str]]:
    """What asks, and the expression."""
    for panel in panels():
        for target in panel["targets"]:
            yield panel["title"], target["expr"]
    for rule in alerts():
        yield rule["alert"], rule["expr"]


@pytest.fixture
def exported(live: Callable[..., Live], sqlite_address: str) -> dict[str, set[str]]:
    running = live(sqlite_address)
    ranked = running.client.post("/v1/policies/shop/rank", json=rank_body()).json()
    told = {"ranking_id": ranked["ranking_id"], "events": [{"id": "e", "position": 1}]}
    assert running.client.post("/v1/feedback", json=told).status_code == 200
    series = metrics_of(running.service.metrics)
    page = running.client.get("/metrics").text
    for name, labels in re.findall(r"^(fairexp_\w+)(?:\{(.*?)\})? ", page, re.MULTILINE):
        if not name.endswith("_created"):
            assert set(re.findall(r'(\w+)="', labels)) == series[name], name
    return series


def test_every_expression_names_only_metrics_and_labels_that_there_are(exported: dict[str, set[str]]) -> None:
    known = {**exported, "up": set()}
    for who, expression in expressions():
        bare = re.sub(r'"[^"]*"', '""', expression)
        labels = [re.findall(r"(\w+)\s*[=!]~?", inside) for inside in re.findall(r"\{(.*?)\}", bare)]
        grouped = re.findall(r"\b(?:by|on)\s*\((.*?)\)", bare)
        selected = re.findall(r"([a-zA-Z_]\w*)\s*\{", bare)
        outside = re.sub(r"\{.*?\}|\[.*?\]|\b(?:by|on)\s*\(.*?\)|\b[0-9.]+\b", " ", bare)
        names = set(re.findall(r"[a-zA-Z_]\w*", outside)) - WORDS
        assert names and names <= set(known), f"{who}: {names - set(known)}"
        for name, own in zip(selected, labels, strict=True):
            assert set(own) <= known[name] | OF_PROMETHEUS, f"{who}: {name} has no {set(own) - known[name]}"
        common = set().union(*(known[name] for name in names)) | OF_PROMETHEUS
        for inside in grouped:
            assert {each.strip() for each in inside.split(",")} <= common, f"{who}: by ({inside})"


def test_legends_and_messages_name_labels_that_their_series_have(exported: dict[str, set[str]]) -> None:
    for panel in panels():
        for target in panel["targets"]:
            check_labels(exported, target["expr"], re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
    for rule in alerts():
        told = " ".join(rule["annotations"].values())
        check_labels(exported, rule["expr"], re.findall(r"\$labels\.(\w+)", told))


def check_labels(exported: dict[str, set[str]], expression: str, named: list[str]) -> None:
    """A result has the labels by which it is summed, or those of its series."""
    sums = re.findall(r"\bby\s*\((.*?)\)", expression)
    series = re.findall(r"fairexp_\w+", expression)
    own = {each.strip() for each in sums[0].split(",")} if sums else set().union(*(exported[name] for name in series))
    left = own | (set() if sums else OF_PROMETHEUS)
    assert set(named) <= left - {"le"}, f"{expression} has {left}, not {named}"


def test_every_metric_is_on_the_board(exported: dict[str, set[str]]) -> None:
    asked = " ".join(target["expr"] for panel in panels() for target in panel["targets"])
    for name in exported:
        if name not in ("fairexp_rank_seconds_count", "fairexp_rank_seconds_sum"):
            assert re.search(rf"\b{name}\b", asked), f"no panel shows {name}"


def test_the_board_is_whole() -> None:
    told = board()
    numbers = [panel["id"] for panel in told["panels"]]
    assert len(set(numbers)) == len(numbers)
    assert {each["name"] for each in told["templating"]["list"]} == {"source", "instance", "policy"}
    for panel in panels():
        assert panel["description"] and panel["datasource"]["uid"] == "${source}"
    taken: set[tuple[int, int]] = set()
    for panel in told["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        cells = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert not cells & taken, f"{panel['title']} lies on another panel"
        taken |= cells


def test_alerts_are_those_of_the_guide() -> None:
    guide = (DEPLOY.parent / "docs" / "service" / "deployment.md").read_text(encoding="utf-8")
    for rule in alerts():
        assert f"`{rule['alert']}`" in guide
        assert rule["labels"]["severity"] in ("page", "warn")
        assert rule["annotations"]["summary"] and rule["annotations"]["action"]


def test_prometheus_is_told_where_and_with_which_key() -> None:
    told = yaml.safe_load(SCRAPING.read_text())
    (job,) = told["scrape_configs"]
    assert (job["job_name"], job["metrics_path"], job["authorization"]["type"]) == ("fairexp", "/metrics", "Bearer")
    assert told["rule_files"] == [RULES.name]
    assert job["static_configs"] == [{"targets": ["127.0.0.1:8000"]}]


@pytest.mark.skipif(shutil.which("promtool") is None, reason="no promtool here (Debian: prometheus)")
def test_prometheus_accepts_them_all(tmp_path: Path) -> None:
    shutil.copy(RULES, tmp_path / RULES.name)
    (tmp_path / "key").touch()
    scraping = SCRAPING.read_text().replace("/etc/prometheus/fairexp.key", str(tmp_path / "key"))
    (tmp_path / "prometheus.yml").write_text(scraping)
    rules = [
        {"record": f"panel:{number}", "expr": expression.replace("$__rate_interval", "1m")}
        for number, (_, expression) in enumerate(expressions())
    ]
    (tmp_path / "panels.yml").write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    for what, name in (("config", "prometheus.yml"), ("rules", RULES.name), ("rules", "panels.yml")):
        done = subprocess.run(["promtool", "check", what, name], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
