"""The row on building: an absolute bar that others' use of the machine cannot make it miss."""

from __future__ import annotations

import subprocess
import sys

import pytest

from benchmarks import build


@pytest.mark.parametrize(
    ("whole", "used", "verdict"), [(80.0, 150.0, "pass"), (200.0, 150.0, "noise"), (200.0, 190.0, "miss")]
)
def test_a_build_is_held_to_what_two_free_cores_would_need(
    monkeypatch: pytest.MonkeyPatch, whole: float, used: float, verdict: str
) -> None:
    monkeypatch.setattr(build, "build", lambda: (whole, used))
    (row,) = build.wheel_row(turns=3)
    assert row.verdict == verdict and row.ratio == pytest.approx(whole / 90)
    assert row.note == f"{whole:.0f} s, {used:.0f} s of processor time"


def test_processor_time_is_that_of_processes_which_have_ended() -> None:
    before = build.processor_seconds()
    code = "import time\nwhile time.process_time() < 0.2: pass"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert build.processor_seconds() - before >= 0.2
