"""Ranking data: files, published collections, synthetic worlds, and provider groups.

`sources` takes one word for any of them: a file (`letor`, plain or `compressed`), a published collection in a folder
(`catalog`), or a `synthetic` world; `letor_folders` reads sets that the catalogue does not know. Each becomes a
`dataset`, which `groups` (by rule, or from `group_files`) divide among providers, and `describe` sums up.
"""

from fairexp.data.catalog import COLLECTIONS, Collection, collection, load
from fairexp.data.dataset import Dataset
from fairexp.data.describe import GroupSummary, describe, group_shares, group_table
from fairexp.data.groups import GroupRule
from fairexp.data.letor.reader import read_letor
from fairexp.data.sources import open_data
from fairexp.data.synthetic import WORLDS, world

__all__ = [
    "COLLECTIONS",
    "WORLDS",
    "Collection",
    "Dataset",
    "GroupRule",
    "GroupSummary",
    "collection",
    "describe",
    "group_shares",
    "group_table",
    "load",
    "open_data",
    "read_letor",
    "world",
]
