"""Ctrl-C, as a terminal sends it: a real process, and the signal to its whole group."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pyarrow import parquet

pytestmark = pytest.mark.skipif(os.name != "posix", reason="process groups are POSIX")
CODE = "from fairexp.cli import main\nif __name__ == '__main__': main()"


def interrupted(*arguments: object, wait_for: Path, to_group: bool = True) -> tuple[int, str, str]:
    """Start the command, press Ctrl-C soon after the file `wait_for` exists; exit code, stdout and stderr."""
    command = [sys.executable, "-c", CODE, *map(str, arguments)]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, start_new_session=True)
    try:
        deadline = time.monotonic() + 60
        while not wait_for.exists() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.5)
        if to_group:
            os.killpg(process.pid, signal.SIGINT)
        else:
            process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=30)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return process.returncode, stdout, stderr


@pytest.mark.parametrize("to_group", [True, False])
def test_one_run_keeps_its_rounds(tmp_path: Path, to_group: bool) -> None:
    code, stdout, stderr = interrupted(
        "simulate", "--queries", 20, "--rounds", 1_000_000, "--ranker", "pdgd", "--out", tmp_path,
        wait_for=tmp_path / "settings.json", to_group=to_group,
    )  # fmt: skip
    assert code == 130, stderr
    result = json.loads((tmp_path / "result.json").read_text())
    rounds = parquet.read_table(tmp_path / "trace.parquet")["round"].to_pylist()
    assert result["interrupted"] is True and 0 < result["rounds"] < 1_000_000
    assert rounds == list(range(1, result["rounds"] + 1))
    assert "Interrupted: 0 of 1 runs finished, 1 cut short" in stderr and "Traceback" not in stderr
    assert f"{result['online_ndcg']:,.1f}" in stdout


def test_runs_in_parallel_keep_theirs_and_the_rest_does_not_start(tmp_path: Path) -> None:
    code, stdout, stderr = interrupted(
        "simulate", "--queries", 20, "--rounds", 1_000_000, "--ranker", "pdgd", "--seeds", 6, "--jobs", 2,
        "--out", tmp_path, wait_for=tmp_path / "pdgd" / "perfect" / "seed-1" / "settings.json",
    )  # fmt: skip
    assert code == 130, stderr
    assert "Interrupted: 0 of 6 runs finished, 2 cut short" in stderr and "Traceback" not in stderr
    results = sorted(tmp_path.glob("*/*/*/result.json"))
    assert [path.parent.name for path in results] == ["seed-0", "seed-1"]
    for path in results:
        result = json.loads(path.read_text())
        assert result["interrupted"] is True
        assert parquet.read_table(path.parent / "trace.parquet").num_rows == result["rounds"] > 0
    assert "pdgd" in stdout
