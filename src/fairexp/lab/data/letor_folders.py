"""Ranking sets that the catalogue does not know: a folder with train, vali and test in LETOR's text format."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fairexp.errors import DataError
from fairexp.lab.data import Dataset, read_letor
from fairexp.lab.data.compressed import NOR_COMPRESSED, find_file


def part_path(folder: str, *, fold: int, part: str) -> Path:
    """Where a part lies: Fold{fold}/{part}.txt, or {part}.txt where there are no folds; compressed or not."""
    top = Path(folder)
    has_folds = bool(_folds(top))
    place = top / f"Fold{fold}" / f"{part}.txt" if has_folds else top / f"{part}.txt"
    path = find_file(place)
    if path is not None and (has_folds or fold == 1):
        return path
    if not top.is_dir():
        raise DataError(top, "no such folder. Pass the folder that holds Fold1, or train.txt, vali.txt and test.txt.")
    there = _folds(top) or ["no folds, so only fold 1"]
    raise DataError(
        place,
        f"no such file {NOR_COMPRESSED}, for {part} of fold {fold}; {top} has "
        f"{', '.join(there)}. Correct the folder, or ask for the folds that there are.",
    )


def _folds(top: Path) -> list[str]:
    """The names of the folders of folds, in any letter case."""
    return sorted(path.name for path in top.iterdir() if path.name.lower().startswith("fold")) if top.is_dir() else []


def read_parts(folder: str, *, fold: int, parts: Sequence[str]) -> list[Dataset]:
    """The `parts` of a fold, all as wide as the widest: a file need not mention the last features."""
    paths = [part_path(folder, fold=fold, part=part) for part in parts]
    read = [read_letor(path) for path in paths]
    width = max(data.n_features for data in read)
    return [
        data if data.n_features == width else read_letor(path, n_features=width)
        for path, data in zip(paths, read, strict=True)
    ]
