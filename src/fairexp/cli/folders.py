"""Where runs are kept: a folder that holds some is refused, or cleared of them and of nothing else."""

from __future__ import annotations

import json
from pathlib import Path

from fairexp.errors import ArgumentError, RunExistsError

SUMMARY = "summary.csv"


def make_room(folder: Path, *, overwrite: bool) -> None:
    """See to it that `folder` holds no runs: with `overwrite` those in it are deleted, otherwise they stop us."""
    if folder.exists() and not folder.is_dir():
        raise ArgumentError("--out", f"{str(folder)!r}, which is a file", "a folder")
    kept = find_runs(folder)
    if kept and not overwrite:
        more = f" and {len(kept) - 1} more" if len(kept) > 1 else ""
        raise RunExistsError(
            f"--out: {folder} holds runs already ({kept[0].relative_to(folder.parent)}{more}); "
            "choose another folder, or pass --overwrite to delete them"
        )
    for run in kept:
        _delete(run, folder)
    if kept:
        (folder / SUMMARY).unlink(missing_ok=True)


def find_runs(folder: Path) -> list[Path]:
    """The folders of runs: `folder` itself, and those below it at ranker/user/seed-N."""
    from fairexp.lab.simulation.result import SETTINGS

    marks = [folder / SETTINGS, *sorted(folder.glob(f"*/*/seed-*/{SETTINGS}"))]
    return [mark.parent for mark in marks if _is_ours(mark)]


def _is_ours(settings: Path) -> bool:
    """Whether a settings file is one that a run has written."""
    try:
        content = json.loads(settings.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(content, dict) and {"ranker", "user", "rounds", "seed"} <= content.keys()


def _delete(run: Path, top: Path) -> None:
    """Delete the files of one run, and the folders up to `top` that this leaves empty."""
    from fairexp.lab.simulation.recorder import STATE
    from fairexp.lab.simulation.result import RESULT, SETTINGS, TRACE

    for name in (SETTINGS, TRACE, RESULT, STATE):
        (run / name).unlink(missing_ok=True)
    place = run
    while place != top and not any(place.iterdir()):
        place.rmdir()
        place = place.parent
