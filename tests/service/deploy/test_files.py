"""Files of deployment name commands, options, variables, routes, settings and paths that there are."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml

from fairexp.service.policies.spec import load_policies
from fairexp.service.settings import ServerSettings
from fairexp.service.store.postgres import PASSWORD_FILE
from tests.service.deploy.names import DEPLOY, ROOT, check_command, environment
from tests.service.http.test_access import DECISIONS

UNIT = DEPLOY / "systemd" / "fairexp.service"
VARIABLES = DEPLOY / "systemd" / "fairexp.env"
CONTAINER = DEPLOY / "Containerfile"
COMPOSE = DEPLOY / "compose" / "compose.yaml"
GUIDE = ROOT / "docs" / "service" / "deployment.md"
OTHERS = {"OPENBLAS_NUM_THREADS", "PATH", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"}


def unit() -> dict[str, str]:
    """The unit's entries; of those that come several times the last."""
    return dict(re.findall(r"^(\w+)=(.*)$", UNIT.read_text(), re.MULTILINE))


def instructions() -> list[tuple[str, str]]:
    """The Containerfile, instruction by instruction."""
    text = re.sub(r"\\\n\s*", " ", re.sub(r"^#.*\n", "", CONTAINER.read_text(), flags=re.MULTILINE))
    return [(line.split()[0], line.partition(" ")[2].strip()) for line in text.splitlines() if line.strip()]


def stages() -> list[list[tuple[str, str]]]:
    found: list[list[tuple[str, str]]] = []
    for instruction in instructions():
        if instruction[0] == "FROM":
            found.append([])
        if found:
            found[-1].append(instruction)
    return found


def runtime() -> dict[str, str]:
    return dict(stages()[-1])


def compose() -> Any:
    return yaml.safe_load(COMPOSE.read_text())


def variables() -> dict[str, str]:
    return dict(re.findall(r"^#?([A-Z_]+)=(.*)$", VARIABLES.read_text(), re.MULTILINE))


def check_routes(text: str) -> None:
    for path in re.findall(r"127\.0\.0\.1:8000(/[\w/]*)", text):
        assert ("GET", path) in DECISIONS, f"there is no route {path}"


def test_the_unit_starts_what_there_is() -> None:
    told = unit()
    check_command(["fairexp", *shlex.split(told["ExecStart"])[1:]])
    check_command(["fairexp", "serve", *shlex.split(variables()["FAIREXP_OPTIONS"])])
    assert set(variables()) <= environment() | OTHERS | {"FAIREXP_OPTIONS"}
    assert f"{told['WorkingDirectory']}/" in variables()["FAIREXP_KEY_FILE"]
    assert told["WorkingDirectory"] == f"/var/lib/{told['StateDirectory']}"
    assert told["User"] == "fairexp" and told["NoNewPrivileges"] == "yes" and told["ProtectSystem"] == "strict"
    assert told["Type"] == "exec", "the service says nothing to systemd when it is ready"


def test_the_units_limits_fit_the_settings() -> None:
    settings, told = ServerSettings(), unit()
    files = int(told["LimitNOFILE"])
    assert files - max(128, files // 4) >= settings.max_connections
    assert int(told["TimeoutStopSec"]) > settings.drain_seconds
    assert files == compose()["services"]["fairexp"]["ulimits"]["nofile"]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze here")
def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    """All but that /opt/fairexp is not there; the score is its own, from 0 (closed) to 10."""
    there = UNIT.read_text().replace("/opt/fairexp/bin/fairexp", "/bin/true")
    (tmp_path / UNIT.name).write_text(there)
    verified = subprocess.run(["systemd-analyze", "verify", tmp_path / UNIT.name], capture_output=True, text=True)
    assert UNIT.name not in verified.stderr, verified.stderr
    command = ["systemd-analyze", "security", "--offline=true", "--threshold=20", tmp_path / UNIT.name]
    scored = subprocess.run(command, capture_output=True, text=True)
    assert scored.returncode == 0, scored.stdout[-300:]


def test_the_image_is_made_of_what_there_is() -> None:
    for name, told in instructions():
        if name == "COPY" and not told.startswith("--from"):
            *sources, _ = told.split()
            assert all((ROOT / source).exists() for source in sources), told
    variables = set(re.findall(r"([A-Z_]+)=", runtime()["ENV"]))
    assert variables <= environment() | OTHERS
    check_command([*json.loads(runtime()["ENTRYPOINT"]), *json.loads(runtime()["CMD"])])
    check_routes(runtime()["HEALTHCHECK"])
    assert "/readyz" in runtime()["HEALTHCHECK"]


def test_the_image_runs_as_nobody_special_and_has_no_compiler() -> None:
    assert runtime()["USER"] == "fairexp" and "--uid 10001" in runtime()["RUN"]
    assert "gcc" in stages()[0][1][1] and not re.search(r"gcc|-dev|pip", runtime()["RUN"])
    volume = runtime()["VOLUME"]
    assert runtime()["ENV"].count(f"={volume}/") == 2, "the store and the first key belong on the volume"


def test_the_containers_fit_together() -> None:
    told = compose()
    ours, theirs = told["services"]["fairexp"], told["services"]["db"]
    check_command(["fairexp", *ours["command"]])
    assert set(ours["environment"]) <= environment()
    url = urlsplit(ours["environment"]["FAIREXP_STORE"])
    assert (url.username, url.hostname, url.path) == ("fairexp", "db", "/" + theirs["environment"]["POSTGRES_DB"])
    assert url.username == theirs["environment"]["POSTGRES_USER"] and url.password is None
    (secret,) = parse_qs(url.query)[PASSWORD_FILE]
    assert secret == theirs["environment"]["POSTGRES_PASSWORD_FILE"] == "/run/secrets/db_password"
    assert ours["secrets"] == theirs["secrets"] == list(told["secrets"]) == ["db_password"]
    assert ours["read_only"] and ours["cap_drop"] == ["ALL"] and "healthcheck" in theirs
    assert (COMPOSE.parent / ours["build"]["context"] / ours["build"]["dockerfile"]).resolve() == CONTAINER
    mounted = dict(each.split(":")[:2] for each in ours["volumes"])
    assert (COMPOSE.parent / "../policies.yaml").exists() and mounted["../policies.yaml"] in ours["command"]
    assert mounted["state"] == runtime()["VOLUME"]
    assert set(told["volumes"]) == {"state", "database"}
    assert ours["ports"] == [f"127.0.0.1:8000:{runtime()['EXPOSE']}"]


def test_the_example_policies_can_be_declared() -> None:
    assert list(load_policies(DEPLOY / "policies.yaml")) == ["shop"]


def test_the_guide_names_what_there_is() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    for path in re.findall(r"\bdeploy/[\w./-]+\w", text):
        assert (ROOT / path).exists(), path
    blocks = re.sub(r"\\\n\s*", " ", "\n".join(re.findall(r"```sh\n(.*?)```", text, re.DOTALL)))
    commands = re.findall(r"(?:^|[ /])(fairexp (?:serve|keys|audit|policy|erase)\b[^\n|>&;)]*)", blocks, re.MULTILINE)
    assert len(commands) > 10
    for command in commands:
        check_command(command.rstrip("'\""))
    check_routes(blocks)
    for name in re.findall(r"\bFAIREXP_[A-Z_]+", text):
        assert name in environment() | {"FAIREXP_KEY", "FAIREXP_OPTIONS"}, name
    for name in re.findall(r"`(max_\w+|\w+_seconds|\w+_bytes)`", text):
        known = {*ServerSettings.model_fields, "fairexp_rank_seconds", "fairexp_body_bytes", "fairexp_cached_bytes"}
        assert name in known, name
