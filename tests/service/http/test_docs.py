"""The tutorial's commands, as they stand there, against a running service; the tables against the code."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.service.http.test_access import DECISIONS
from tests.service.http.test_start import COMMAND, serving
from tests.service.live import Live
from tests.waiting import SECONDS

DOCS = Path(__file__).resolve().parents[3] / "docs"


def test_the_tutorial_works_as_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (DOCS / "service" / "tutorial.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```(yaml|sh|python)\n(.*?)```", text, re.DOTALL)
    (declared,) = [block for kind, block in blocks if kind == "yaml"]
    install, start, export, *commands, add = [block for kind, block in blocks if kind == "sh"]
    assert install == "pip install 'fairexp[service]'\n"
    assert start == "fairexp serve --policies policies.yaml\n" and "`policies.yaml`" in text
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
    assert [line.split()[0] for line in printed[:5]] == ["1", "2", "3", "4", "5"]
    assert printed[5] == "learned" and len(printed) > 6
    made = subprocess.run([*COMMAND, *add.split()[1:]], cwd=tmp_path, text=True, capture_output=True, check=True)
    assert re.fullmatch(r"fx_\w+\n", made.stdout) and "feedback, rank, for shop only" in made.stderr


def check_commands(url: str, commands: list[str]) -> None:
    """Rank, learn, ask why and look at the numbers, with `curl` as it stands there."""
    ranking_id, answers = "", []
    for command in commands:
        answer = _curl(url, command.replace("RANKING_ID", ranking_id))
        assert answer.status_code == 200, answer.text
        answers.append(answer.json())
        ranking_id = ranking_id or answers[0]["ranking_id"]
    ranked, learned, told, fairness = answers
    assert len(ranked["items"]) == 5
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
