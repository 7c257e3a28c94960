"""Ranking data: files, published collections, synthetic worlds, and provider groups.

`sources` takes one word for any of them: a file (`letor`, plain or `compressed`, or `tables`), a published
collection in a folder (`catalog`), or a `synthetic` world; `letor_folders` reads sets that the catalogue does not know.
In a table `columns` says what is where; `rows` brings the rows of tables, and arrays, into the order of their queries.
Each becomes a `dataset`, which `groups` (by rule, or from `group_files`) divide among providers; `describe` sums it up.
"""

from fairexp.data.catalog import COLLECTIONS, Collection, collection, load
from fairexp.data.columns import Columns
from fairexp.data.dataset import Dataset
from fairexp.data.describe import GroupSummary, contents, describe, feature_line, group_shares, group_table
from fairexp.data.groups import GroupRule
from fairexp.data.letor.reader import read_letor
from fairexp.data.rows import from_arrays
from fairexp.data.sources import open_data
from fairexp.data.synthetic import WORLDS, world
from fairexp.data.tables import from_table, read_table

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
