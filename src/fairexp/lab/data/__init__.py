"""Ranking data: files, published collections, synthetic worlds, and provider groups.

`sources` takes one word for any of them: a file (`letor`, plain or `compressed`, or `tables`), a published
collection in a folder (`catalog`), or a `synthetic` world; `letor_folders` reads sets that the catalogue does not know.
In a table `columns` says what is where; `rows` brings the rows of tables, and arrays, into the order of their queries.
Each becomes a `dataset`, which `groups` (by rule, or from `group_files`) divide among providers; `describe` sums it up.
"""

from fairexp.lab.data.catalog import COLLECTIONS, Collection, collection, load
from fairexp.lab.data.columns import Columns
from fairexp.lab.data.dataset import Dataset
from fairexp.lab.data.describe import GroupSummary, contents, describe, feature_line, group_shares, group_table
from fairexp.lab.data.groups import GroupRule
from fairexp.lab.data.letor.reader import read_letor
from fairexp.lab.data.rows import from_arrays
from fairexp.lab.data.sources import open_data
from fairexp.lab.data.synthetic import WORLDS, world
from fairexp.lab.data.tables import from_table, read_table

__all__ = [
    "COLLECTIONS",
    "WORLDS",
    "Collection",
    "Columns",
    "Dataset",
    "GroupRule",
    "GroupSummary",
    "collection",
    "contents",
    "describe",
    "feature_line",
    "from_arrays",
    "from_table",
    "group_shares",
    "group_table",
    "load",
    "open_data",
    "read_letor",
    "read_table",
    "world",
]
