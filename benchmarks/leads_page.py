"""The tables of docs/results/leads.md, from the record of `benchmarks.leads` beside it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.leads import AUTHORS, FOLDS, REPLAY, USERS
from benchmarks.marks import between
from fairexp.statistics import effect

RECORD = Path(__file__).resolve().parents[1] / "docs" / "results" / "leads.json"
DEFAULT = "default"
PLACES = {
    "MQ2008, folds 1 to 3": FOLDS[:3],
    "MQ2008, folds 4 and 5": FOLDS[3:],
    "MSLR sample": ("mslr-sample",),
    "world `mslr-pagerank`": ("mslr-pagerank",),
    "world `yahoo-9`": ("yahoo-9",),
}
DIGITS = {"online": 1, "held_out": 4, "gap": 4}
Cell = tuple[str, str, int]
Rows = Mapping[Cell, Mapping[str, Any]]


def with_tables(page: str, record: Iterable[Mapping[str, Any]]) -> str:
    """The page with its two tables as the record says."""
    kept = list(record)
    ours, theirs = _of(kept, DEFAULT), _of(kept, REPLAY)
    return between(between(page, "against", _against(ours, theirs)), "replay", _replay(theirs))


def read_record() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(RECORD.read_text(encoding="utf-8"))
    return rows


def _of(rows: Iterable[Mapping[str, Any]], variant: str) -> Rows:
    return {(row["data"], row["user"], row["seed"]): row for row in rows if row["variant"] == variant}


def _against(ours: Rows, theirs: Rows) -> list[str]:
    titles = ("data (runs)", "user", "authors' rules", "FairExp less that: online", "held out", "mean gap")
    titles += ("worst run: FairExp", "authors' rules")
    lines = [f"| {' | '.join(titles)} |", "|---" * len(titles) + "|"]
    for place, names in PLACES.items():
        for user in USERS:
            both = sorted(cell for cell in ours.keys() & theirs.keys() if cell[0] in names and cell[1] == user)
            if both:
                means = " / ".join(f"{_mean(theirs, both, key):.{digits}f}" for key, digits in DIGITS.items())
                told = [_difference(ours, theirs, both, key) for key in DIGITS]
                worst = [f"{_worst(rows, theirs, both):.0%}" for rows in (ours, theirs)]
                lines.append(f"| {' | '.join([f'{place} ({len(both)})', user, means, *told, *worst])} |")
    return lines


def _replay(theirs: Rows) -> list[str]:
    """The replay beside the code itself, on the seeds and data that both have."""
    titles = ("data", "user", "the code itself: online / held out / mean gap", "the replay less that")
    lines = [f"| {' | '.join(titles)} |", "|---" * len(titles) + "|"]
    for place, names in PLACES.items():
        for user in USERS:
            published = [AUTHORS[name, user] for name in names if (name, user) in AUTHORS]
            cells = [(name, user, seed) for name in names for seed in range(3) if (name, user, seed) in theirs]
            if len(published) == len(names) and len(cells) == 3 * len(names):
                own = np.mean(published, axis=0)
                apart = [_mean(theirs, cells, key) - of for key, of in zip(DIGITS, own, strict=True)]
                code = " / ".join(f"{of:.{digits}f}" for of, digits in zip(own, DIGITS.values(), strict=True))
                less = " / ".join(f"{of:+.{digits}f}" for of, digits in zip(apart, DIGITS.values(), strict=True))
                lines.append(f"| {place} | {user} | {code} | {less} |")
    return lines


def _mean(rows: Rows, cells: Iterable[Cell], key: str) -> float:
    return float(np.mean([rows[cell][key] for cell in cells]))


def _difference(ours: Rows, theirs: Rows, cells: list[Cell], key: str) -> str:
    """The paired difference with its 95% interval; in bold where the interval speaks for FairExp, ! where against."""
    found, digits = effect(ours[cell][key] - theirs[cell][key] for cell in cells), DIGITS[key]
    if found.low is None or found.high is None:
        return f"{found.mean:+.{digits}f}"
    better = found.high < 0.0 if key == "gap" else found.low > 0.0
    worse = found.low > 0.0 if key == "gap" else found.high < 0.0
    mean = f"**{found.mean:+.{digits}f}**" if better else f"{found.mean:+.{digits}f}{'!' if worse else ''}"
    return f"{mean} [{found.low:.{digits}f}, {found.high:.{digits}f}]"


def _worst(rows: Rows, theirs: Rows, cells: list[Cell]) -> float:
    """The least online NDCG of a run, of the mean of the authors' rules on that data set."""
    usual = {name: _mean(theirs, [cell for cell in cells if cell[0] == name], "online") for name, _, _ in cells}
    return min(float(rows[cell]["online"]) / usual[cell[0]] for cell in cells)
