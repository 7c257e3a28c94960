"""The tutorial's commands, as they stand there, against a running service; the tables against the code."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
import yaml

from fairexp.fairness.ledger import within
from fairexp.service.policies.spec import PolicySpec
from tests.service.http.test_access import DECISIONS
from tests.service.http.test_start import COMMAND, serving
from tests.service.live import Live
from tests.waiting import SECONDS

DOCS = Path(__file__).resolve().parents[3] / "docs"


def tutorial() -> list[tuple[str, str]]:
    """The language and the text of each block of code in the tutorial."""
    text = (DOCS / "service" / "tutorial.md").read_text(encoding="utf-8")
    return re.findall(r"```(yaml|sh|python)\n(.*?)```", text, re.DOTALL)


def test_the_tutorial_works_as_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    blocks = tutorial()
    (declared,) = [block for kind, block in blocks if kind == "yaml"]
    install, start, export, *commands, add = [block for kind, block in blocks if kind == "sh"]
    assert install == "pip install 'fairexp[service]'\n"
    assert start == "fairexp serve --policies policies.yaml\n"
    with serving(tmp_path, policies=declared) as server:
        server.wait_ready()
        key = subprocess.check_output(["sh", "-c", f'{export} printf %s "$FAIREXP_KEY"'], cwd=tmp_path, text=True)
        monkeypatch.setenv("FAIREXP_KEY", key)
        check_commands(server.url, commands)
        names: dict[str, Any] = {}
        for kind, block in blocks:
            if kind == "python":
                exec(block.replace("http://localhost:8000", server.url), names)
        names["client"].close()
        server.end()
    printed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in printed[:3]] == ["1", "2", "3"]
    assert printed[3] == "learned" and len(printed) > 4
    made = subprocess.run([*COMMAND, *add.split()[1:]], cwd=tmp_path, text=True, capture_output=True, check=True)
    assert re.fullmatch(r"fx_\w+\n", made.stdout) and "feedback, rank, for shop only" in made.stderr


@pytest.mark.parametrize("own", [True, False], ids=["its own search", "searches of other sizes"])
def test_the_policy_of_the_tutorial_keeps_its_tolerance(
    live: Callable[..., Live], sqlite_address: str, own: bool
) -> None:
    """With a click in each search, on one of the first positions."""
    blocks = tutorial()
    (declared,) = [yaml.safe_load(block)["policies"] for kind, block in blocks if kind == "yaml"]
    (body,) = [re.search(r"/rank .* -d '(.*)'", block, re.DOTALL) for _, block in blocks if "/rank " in block]
    assert body is not None
    request, rng = json.loads(body.group(1)), np.random.default_rng(0)
    client = live(sqlite_address, policies={"shop": PolicySpec.model_validate({**declared["shop"], "seed": 1})}).client
    for _ in range(200):
        asked = request if own else {**request, "candidates": made_up(rng)}
        ranked = client.post("/v1/policies/shop/rank", json=asked).json()
        event = {"type": "click", "position": int(rng.integers(1, 3))}
        client.post("/v1/feedback", json={"ranking_id": ranked["ranking_id"], "events": [event]})
    told = client.get("/v1/policies/shop/fairness").json()
    assert told["qualified_share"] >= 0.99
    assert not own or within(told["largest_gap"], declared["shop"]["tolerance"])


def made_up(rng: np.random.Generator) -> list[dict[str, Any]]:
    """From 5 to 20 candidates, each of either group as a coin says, but not all of the same."""
    n = int(rng.integers(5, 21))
    groups = ["small", "large", *rng.choice(["small", "large"], n - 2)]
    features = rng.random((n, 3)) * [10.0, 1.0, 40.0]
    return [{"id": f"d{i}", "group": groups[i], "features": features[i].tolist()} for i in rng.permutation(n)]


def check_commands(url: str, commands: list[str]) -> None:
    """Rank, learn, ask why and look at the numbers, with `curl` as it stands there."""
    ranking_id, answers = "", []
    for command in commands:
        answer = _curl(url, command.replace("RANKING_ID", ranking_id))
        assert answer.status_code == 200, answer.text
        answers.append(answer.json())
        ranking_id = ranking_id or answers[0]["ranking_id"]
    ranked, learned, told, fairness = answers
    assert len(ranked["items"]) == 3
    assert learned["results"][0]["status"] == "learned"
    assert told["explanation"]["summary"] and fairness["rounds"] == 1


def _curl(url: str, command: str) -> httpx.Response:
    """What `curl` would do with these arguments."""
    program, silent, address, *options = shlex.split(os.path.expandvars(command))
    assert (program, silent) == ("curl", "-s")
    given = dict(zip(options[::2], options[1::2], strict=True))
    headers = dict([given.pop("-H").split(": ")])
    body = given.pop("-d", None)
    assert not given
    method, place = "GET" if body is None else "POST", address.replace("localhost:8000", url)
    return httpx.request(method, place, headers=headers, content=body, timeout=SECONDS)


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
