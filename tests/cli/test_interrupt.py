"""Ctrl-C, as a terminal sends it: a real process, and the signal to its whole group."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from pyarrow import parquet

from tests.waiting import SECONDS, until

pytestmark = pytest.mark.skipif(os.name != "posix", reason="process groups are POSIX")
CODE = "from fairexp.cli import main\nif __name__ == '__main__': main()"


def interrupted(*arguments: object, wait_for: Sequence[Path], to_group: bool = True) -> tuple[int, str, str]:
    """Start the command, press Ctrl-C as soon as the files `wait_for` exist; exit code, stdout and stderr.

    Settings are written when the first round begins, and an interrupt takes effect at its end at the earliest.
    """
    command = [sys.executable, "-c", CODE, *map(str, arguments)]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, start_new_session=True)
    try:
        until(lambda: all(path.exists() for path in wait_for) or process.poll() is not None, "the run did not begin")
        if to_group:
            os.killpg(process.pid, signal.SIGINT)
        else:
            process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=SECONDS)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return process.returncode, stdout, stderr


@pytest.mark.parametrize("to_group", [True, False])
def test_one_run_keeps_its_rounds(tmp_path: Path, to_group: bool) -> None:
    code, stdout, stderr = interrupted(
        "simulate", "--queries", 20, "--rounds", 1_000_000, "--ranker", "pdgd", "--out", tmp_path,
        wait_for=[tmp_path / "settings.json"], to_group=to_group,
    )  # fmt: skip
    assert code == 130, stderr
    result = json.loads((tmp_path / "result.json").read_text())
    rounds = parquet.read_table(tmp_path / "trace.parquet")["round"].to_pylist()
    assert result["interrupted"] is True and 0 < result["rounds"] < 1_000_000
    assert rounds == list(range(1, result["rounds"] + 1))
    assert "Interrupted: 0 of 1 runs finished, 1 cut short" in stderr and "Traceback" not in stderr
    assert f"{result['online nDCG@10']:,.1f}" in stdout


def test_runs_in_parallel_keep_theirs_and_the_rest_does_not_start(tmp_path: Path) -> None:
    code, stdout, stderr = interrupted(
        "simulate", "--queries", 20, "--rounds", 1_000_000, "--ranker", "pdgd", "--seeds", 6, "--jobs", 2,
        "--out", tmp_path,
        wait_for=[tmp_path / "pdgd" / "perfect" / f"seed-{seed}" / "settings.json" for seed in (0, 1)],
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
