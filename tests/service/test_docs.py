"""The tutorial's commands, as they stand there, against a running service; the tables against the code."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import httpx

from fairexp.service.policy import load_policies
from tests.service.live import Live
from tests.service.test_access import DECISIONS

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_the_tutorial_works_as_written(live: Callable[..., Live], sqlite_address: str, tmp_path: Path) -> None:
    text = (DOCS / "service" / "tutorial.md").read_text(encoding="utf-8")
    declared = tmp_path / "policies.yaml"
    declared.write_text(re.search(r"```yaml\n(.*?)```", text, re.DOTALL).group(1), encoding="utf-8")  # type: ignore[union-attr]
    running = live(sqlite_address, policies=load_policies(declared))
    ranking_id, answers = "", []
    for command in re.findall(r"```sh\n(curl .*?)```", text, re.DOTALL):
        answer = _curl(running.client, command.replace("RANKING_ID", ranking_id))
        assert answer.status_code == 200, answer.text
        answers.append(answer.json())
        ranking_id = ranking_id or answers[0]["ranking_id"]
    ranked, learned, told, fairness = answers
    assert len(ranked["items"]) == 5
    assert learned["results"][0]["status"] == "learned"
    assert told["explanation"]["summary"] and fairness["rounds"] == 1


def _curl(client: httpx.Client, command: str) -> httpx.Response:
    path = re.search(r"localhost:8000(/[^\s\"']*)", command).group(1)  # type: ignore[union-attr]
    body = re.search(r"-d '(.*)'", command, re.DOTALL)
    return client.get(path) if body is None else client.post(path, json=json.loads(body.group(1)))


def test_every_route_and_role_is_in_the_table() -> None:
    text = (DOCS / "service.md").read_text(encoding="utf-8")
    for (method, path), (role, _) in DECISIONS.items():
        shown = path.replace("{ranking_id}", "{id}").replace("{name}", "...")
        assert shown in text, path
        if method == "PUT" or "/v1/" in path:
            assert re.search(rf"`{method} {re.escape(shown)}` \| {role} \|", text), path


def test_every_metric_is_documented(live: Callable[..., Live], sqlite_address: str) -> None:
    page = live(sqlite_address).client.get("/metrics").text
    text = (DOCS / "service" / "deployment.md").read_text(encoding="utf-8")
    for name in re.findall(r"# TYPE (\w+) ", page):
        assert name in text or name.endswith("_created"), name
