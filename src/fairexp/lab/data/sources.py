"""One word for any data: a file, a synthetic world, or a published collection in a folder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from fairexp.errors import ArgumentError
from fairexp.lab.data.catalog import COLLECTIONS, load
from fairexp.lab.data.columns import Columns
from fairexp.lab.data.dataset import Dataset
from fairexp.lab.data.groups import GroupRule
from fairexp.lab.data.letor.reader import read_letor
from fairexp.lab.data.synthetic import WORLDS, world
from fairexp.lab.data.tables import ENDINGS, read_table
from fairexp.validation import as_path, check_count


def open_data(
    source: str | os.PathLike[str],
    *,
    folder: str | os.PathLike[str] | None = None,
    fold: int = 1,
    part: str = "train",
    group: GroupRule | str | None = None,
    n_queries: int | None = None,
    seed: int = 0,
    columns: Columns | str | None = None,
    ignore: Sequence[str] = (),
) -> Dataset:
    """The data that `source` names: a world (`n_queries`, `seed`), a collection (`folder`, `fold`), or a file's path.

    A file is a table where its name says so (see `fairexp.lab.data.tables`), and then `columns` says what is where, and
    which columns to `ignore`; any other is LETOR text.

    A world comes with its groups, and a table may have a column of them; `group` replaces these. Elsewhere there
    are none without it.

    >>> open_data("yahoo-9", n_queries=5).n_features
    700
    """
    expected = f"a file that exists, or one of {', '.join([*WORLDS, *COLLECTIONS])}"
    name = str(as_path("source", source, expected))
    if n_queries is not None:
        check_count("n_queries", n_queries)
    is_table = name not in WORLDS and name not in COLLECTIONS and Path(name).suffix.lower() in ENDINGS
    for option, given in (("columns", columns), ("ignore", ignore)):
        if given and not is_table:
            raise ArgumentError(option, repr(given), f"none with {name!r}, which is no table and has no named columns")
    if name in WORLDS:
        data = world(name, seed=seed, part=part, n_queries=n_queries)
        return data if group is None else data.grouped(group)
    if name in COLLECTIONS:
        if folder is None:
            raise ArgumentError("folder", None, f"the folder that holds {COLLECTIONS[name].title}")
        data = load(name, folder, fold=fold, part=part, group=group)
    elif Path(name).exists():
        data = read_table(name, columns=columns, ignore=ignore) if is_table else read_letor(name)
        data = data if group is None else data.grouped(group)
    else:
        raise ArgumentError("source", repr(name), expected)
    return data if n_queries is None else data.subset(range(min(n_queries, data.n_queries)))
