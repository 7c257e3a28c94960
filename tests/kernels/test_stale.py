"""Compiled code must not outlive any of the sources that it was made from."""

from __future__ import annotations

import pytest

from fairexp import kernels
from fairexp.kernels import STAMP, forget_stale


@pytest.fixture
def folders(tmp_path):
    sources, compiled = tmp_path / "kernels", tmp_path / "kernels" / "__pycache__"
    compiled.mkdir(parents=True)
    (sources / "inner.py").write_text("ONE = 1\n")
    (sources / "outer.py").write_text("from inner import ONE\n")
    return sources, compiled


def keep_compiled(compiled):
    for name in ("outer.f-1.py311.nbi", "outer.f-1.py311.1.nbc", "outer.cpython-311.pyc"):
        (compiled / name).write_bytes(b"x")


def test_compiled_code_is_kept_while_no_source_changes(folders):
    sources, compiled = folders
    forget_stale(sources, compiled)
    keep_compiled(compiled)
    assert not forget_stale(sources, compiled)
    assert len(list(compiled.glob("*.nb?"))) == 2


@pytest.mark.parametrize("change", ["content", "new file", "renamed", "no stamp"])
def test_it_goes_when_any_source_changes(folders, change):
    """numba itself would keep `outer`, whose own file is the same, with the old `inner` compiled into it."""
    sources, compiled = folders
    forget_stale(sources, compiled)
    keep_compiled(compiled)
    if change == "content":
        (sources / "inner.py").write_text("ONE = 2\n")
    elif change == "new file":
        (sources / "another.py").write_text("")
    elif change == "renamed":
        (sources / "inner.py").rename(sources / "inside.py")
    else:
        (compiled / STAMP).unlink()
    assert forget_stale(sources, compiled)
    assert [path.suffix for path in compiled.iterdir()].count(".pyc") == 1
    assert list(compiled.glob("*.nb?")) == []
    assert not forget_stale(sources, compiled)


def test_a_folder_that_cannot_be_made_is_no_error(folders):
    sources, _ = folders
    (sources / "blocked").write_text("a file, not a folder")
    assert not forget_stale(sources, sources / "blocked" / "__pycache__")


def test_whether_the_search_was_compiled_before_is_known(tmp_path, monkeypatch):
    monkeypatch.setattr(kernels, "_folder", lambda: tmp_path)
    assert not kernels.is_compiled()
    (tmp_path / "letor.parse-1.py311.nbi").write_bytes(b"x")
    assert not kernels.is_compiled()
    (tmp_path / "templates.solve-1.py311.nbi").write_bytes(b"x")
    assert kernels.is_compiled()
    monkeypatch.setattr(kernels, "_folder", lambda: None)
    assert not kernels.is_compiled()
