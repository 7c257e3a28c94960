"""Ranking data: files, published collections, synthetic worlds, and provider groups.

`sources` takes one word for any of them: a file (`letor`, plain or `compressed`, or `tables`), a published
collection in a folder (`catalog`), or a `synthetic` world; `letor_folders` reads sets that the catalogue does not know.
Each becomes a `dataset`, which `groups` (by rule, or from `group_files`) divide among providers; `describe` sums it up.
"""

from fairexp.data.catalog import COLLECTIONS, Collection, collection, load
from fairexp.data.dataset import Dataset
from fairexp.data.describe import GroupSummary, describe, group_shares, group_table
from fairexp.data.groups import GroupRule
from fairexp.data.letor.reader import read_letor
from fairexp.data.sources import open_data
from fairexp.data.synthetic import WORLDS, world
from fairexp.data.tables import Columns, from_table, read_table

__all__ = [
    "COLLECTIONS",
    "WORLDS",
    "Collection",
    "Columns",
    "Dataset",
    "GroupRule",
    "GroupSummary",
    "collection",
    "describe",
    "from_table",
    "group_shares",
    "group_table",
    "load",
    "open_data",
    "read_letor",
    "read_table",
    "world",
]
