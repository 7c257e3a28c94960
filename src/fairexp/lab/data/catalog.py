"""The public ranking collections: how wide they are, how they are graded, where their files lie."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from fairexp.errors import ArgumentError, DataError
from fairexp.lab.data.compressed import NOR_COMPRESSED, find_file
from fairexp.lab.data.dataset import Dataset
from fairexp.lab.data.groups import NAMED_RULES, GroupRule
from fairexp.lab.data.letor.reader import first_width, read_letor
from fairexp.validation import as_path, check_choice

Files = dict[str, tuple[str, ...]]

PARTS = ("train", "vali", "test")
_BY_FOLD: Files = {part: (f"Fold{{fold}}/{part}.txt",) for part in PARTS}


@dataclass(frozen=True)
class Collection:
    """What is known of a collection; `files` are the places, relative to its folder, where a part may lie.

    `is_dense`: whether lines list every feature, those of value 0 too, so that a file's width is seen from its lines.
    """

    name: str
    title: str
    n_features: int
    n_grades: int
    files: Files
    n_folds: int = 1
    is_dense: bool = True

    @property
    def groups(self) -> tuple[str, ...]:
        """The names of its group attributes (see `fairexp.lab.data.groups.NAMED_RULES`)."""
        return tuple(name for name, width in NAMED_RULES if width == self.n_features)


def _yahoo(number: int) -> Files:
    names = {"train": "train", "vali": "valid", "test": "test"}
    return {part: (f"set{number}.{name}.txt", f"set{number}/{part}.txt") for part, name in names.items()}


def _istella(folder: str, parts: tuple[str, ...]) -> Files:
    return {part: (f"{part}.txt", f"{folder}/{part}.txt") for part in parts}


_OHSUMED: Files = {
    part: (f"Fold{{fold}}/{part}.txt", f"Fold{{fold}}/{old}.txt")
    for part, old in zip(PARTS, ("trainingset", "validationset", "testset"), strict=True)
}

COLLECTIONS: dict[str, Collection] = {
    known.name: known
    for known in (
        Collection("mslr-web10k", "Microsoft MSLR-WEB10K", 136, 5, _BY_FOLD, n_folds=5),
        Collection("mslr-web30k", "Microsoft MSLR-WEB30K", 136, 5, _BY_FOLD, n_folds=5),
        Collection("yahoo-set1", "Yahoo! Learning to Rank Challenge, set 1", 700, 5, _yahoo(1), is_dense=False),
        Collection("yahoo-set2", "Yahoo! Learning to Rank Challenge, set 2", 700, 5, _yahoo(2), is_dense=False),
        Collection("mq2007", "LETOR 4.0 MQ2007", 46, 3, _BY_FOLD, n_folds=5),
        Collection("mq2008", "LETOR 4.0 MQ2008", 46, 3, _BY_FOLD, n_folds=5),
        Collection("istella", "Istella LETOR", 220, 5, _istella("full", ("train", "test"))),
        Collection("istella-s", "Istella-S LETOR", 220, 5, _istella("sample", PARTS)),
        Collection("ohsumed", "LETOR 3.0 OHSUMED", 45, 3, _OHSUMED, n_folds=5),
    )
}


def collection(name: str) -> Collection:
    """The collection called `name`.

    >>> collection("mslr-web10k").groups
    ('pagerank', 'inlinks')
    """
    check_choice("name", name, tuple(COLLECTIONS))
    return COLLECTIONS[name]


def load(
    name: str,
    folder: str | os.PathLike[str],
    *,
    fold: int = 1,
    part: str = "train",
    group: GroupRule | str | None = None,
    scale: str | None = "query",
    cache: bool = True,
) -> Dataset:
    """One part of a published collection that lies in `folder`, laid out as its publisher does.

    `group` chooses the groups: the name of an attribute such as "pagerank", or any `GroupRule` or its text. Files
    may be compressed (.gz, .xz or .zst after the usual name).
    """
    known = collection(name)
    if isinstance(fold, bool) or not isinstance(fold, int) or not 1 <= fold <= known.n_folds:
        raise ArgumentError("fold", repr(fold), f"a number from 1 to {known.n_folds} for {name}")
    check_choice("part", part, tuple(known.files))
    place = as_path("folder", folder, f"the folder that holds {known.title}")
    path = _find(place, known.files[part], fold, known)
    data = read_letor(path, n_features=known.n_features, scale=scale, cache=cache)
    if data.max_grade >= known.n_grades:
        problem = f"has grade {data.max_grade}, but the grades of {known.title} end at {known.n_grades - 1}."
        raise DataError(path, problem)
    _check_width(path, known)
    return data if group is None else data.grouped(group)


def _check_width(path: Path, known: Collection) -> None:
    """Refuse a file of fewer features: what stands under their numbers would be something else."""
    width = first_width(path) if known.is_dense else known.n_features
    if 0 < width < known.n_features:
        raise DataError(
            path,
            f"its lines have {width} features, but {known.title} has {known.n_features}. Name the data that it is, or "
            "pass the file itself, which may have any number.",
        )


def _find(folder: Path, patterns: tuple[str, ...], fold: int, known: Collection) -> Path:
    wanted = [pattern.format(fold=fold) for pattern in patterns]
    for place in wanted:
        if (found := find_file(folder / place)) is not None:
            return found
    if not folder.is_dir():
        raise DataError(folder, f"no such folder. Unpack {known.title} and pass the folder that holds {wanted[0]}.")
    there = sorted(child.name + "/" * child.is_dir() for child in folder.iterdir())
    listing = ", ".join(there[:8]) + (f" and {len(there) - 8} more" if len(there) > 8 else "") or "nothing"
    raise DataError(
        folder,
        f"holds no {' or '.join(wanted)} {NOR_COMPRESSED}, which {known.title} should have; "
        f"there is {listing}. Pass the folder that holds {wanted[0].split('/')[0]}.",
    )
