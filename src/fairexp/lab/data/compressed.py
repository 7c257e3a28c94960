"""Files that may lie compressed beside their usual names."""

from __future__ import annotations

from pathlib import Path

ENDINGS = (".gz", ".xz", ".zst")
"""After the usual name; what a file is really compressed with is seen from its first bytes."""
NOR_COMPRESSED = f"(nor with {', '.join(ENDINGS)})"


def find_file(path: Path) -> Path | None:
    """The file at `path`, plain or else compressed; None where there is neither.

    Where there is none of that very name, letter case does not count, in the file's name nor in its folder's: TRAIN.TXT
    stands for train.txt, and FOLD1 for Fold1.
    """
    places = [path.with_name(path.name + ending) for ending in ("", *ENDINGS)]
    for place in places:
        if place.is_file():
            return place
    for folder in _alike(path.parent.parent, path.parent.name) or [path.parent]:
        for place in places:
            found = next((each for each in _alike(folder, place.name) if each.is_file()), None)
            if found is not None:
                return found
    return None


def _alike(folder: Path, name: str) -> list[Path]:
    """What lies in `folder` under this name in any letter case, in order."""
    try:
        return sorted(each for each in folder.iterdir() if each.name.lower() == name.lower())
    except OSError:
        return []


def plain_name(path: Path) -> str:
    """The file's name without what says how it is compressed.

    >>> plain_name(Path("Fold1/train.txt.gz"))
    'train.txt'
    """
    return path.name.removesuffix(path.suffix) if path.suffix in ENDINGS else path.name
