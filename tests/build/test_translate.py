"""Kernels of a room to C in one process: what comes out as it was is not touched; ninja hears what it is made of."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("Cython")
SCRIPT = Path(__file__).resolve().parents[2] / "build_backend" / "translate.py"


def translate(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), "package.room", "room.dep", "first.py", "second.py", "--", "-3"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_only_what_changed_is_written_anew(tmp_path: Path) -> None:
    (tmp_path / "first.py").write_text("one = 1\n")
    (tmp_path / "second.py").write_text("two = 2\n")
    assert translate(tmp_path).returncode == 0
    assert "package.room.first" in (tmp_path / "first.c").read_text()
    made_of = [line.split(":")[0] for line in (tmp_path / "room.dep").read_text().splitlines() if ":" in line]
    assert made_of == ["first.c", "second.c"] and "first.py" in (tmp_path / "room.dep").read_text()
    before = {name: (tmp_path / name).stat().st_mtime_ns for name in ("first.c", "second.c")}
    (tmp_path / "second.py").write_text("two = 3\n")
    assert translate(tmp_path).returncode == 0
    assert (tmp_path / "first.c").stat().st_mtime_ns == before["first.c"]
    assert (tmp_path / "second.c").stat().st_mtime_ns > before["second.c"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "first.c",
        "first.py",
        "room.dep",
        "second.c",
        "second.py",
    ]


def test_a_kernel_that_cannot_be_translated_fails_and_leaves_the_c_file_alone(tmp_path: Path) -> None:
    (tmp_path / "first.py").write_text("one = = 1\n")
    (tmp_path / "second.py").write_text("two = 2\n")
    (tmp_path / "first.c").write_text("as it was")
    told = translate(tmp_path)
    assert told.returncode != 0 and "first.py:1:6" in told.stderr
    assert (tmp_path / "first.c").read_text() == "as it was" and not (tmp_path / "room.dep").exists()
