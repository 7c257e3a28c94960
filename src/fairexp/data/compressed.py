"""Files that may lie compressed beside their usual names."""

from __future__ import annotations

from pathlib import Path

ENDINGS = (".gz", ".xz", ".zst")
"""After the usual name; what a file is really compressed with is seen from its first bytes."""
NOR_COMPRESSED = f"(nor with {', '.join(ENDINGS)})"


def find_file(path: Path) -> Path | None:
    """The file at `path`, plain or else compressed; None where there is neither."""
    places = (path.with_name(path.name + ending) for ending in ("", *ENDINGS))
    return next((place for place in places if place.is_file()), None)


def plain_name(path: Path) -> str:
    """The file's name without what says how it is compressed.

    >>> plain_name(Path("Fold1/train.txt.gz"))
    'train.txt'
    """
    return path.name.removesuffix(path.suffix) if path.suffix in ENDINGS else path.name
