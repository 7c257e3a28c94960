"""User Behavior Insights: queries with the ids of what they returned, and events that name a query and an object.

UBI tells nothing of the objects themselves, so a table of them comes along: `document`, and a column per feature.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fairexp.errors import ArgumentError
from fairexp.lab.logs.record import Log
from fairexp.lab.logs.rows import feature_columns, feature_matrix

if TYPE_CHECKING:
    import pyarrow as pa

HITS = "query_response_hit_ids"


def log_of_ubi(
    events: pa.Table,
    queries: pa.Table,
    items: pa.Table,
    *,
    action: str = "click",
    features: tuple[str, ...] = (),
    ignore: Sequence[str] = (),
) -> Log:
    """The rankings of UBI queries, with the `action` events on what they returned as clicks.

    Objects that `items` does not know are left out; the others keep their positions. Two queries are the same where
    users wrote the same (`user_query`).
    """
    for table, name, wanted in (
        (events, "events", ("action_name", "query_id", "event_attributes")),
        (queries, "--queries", ("query_id", HITS)),
        (items, "--items", ("document",)),
    ):
        missing = [column for column in wanted if column not in table.column_names]
        if missing:
            raise ArgumentError(name, f"rows without {', '.join(missing)}", f"rows with {', '.join(wanted)}")
    names, notes = feature_columns(items, "--items", named=features, ignore=ignore)
    known = feature_matrix(items, names, "--items")
    numbers = {str(each): row for row, each in enumerate(items.column("document").to_pylist())}
    clicked = _clicked(events, action)
    rows: list[tuple[int, int, bool]] = []
    sizes, texts = [], []
    ids, hits = queries.column("query_id").to_pylist(), queries.column(HITS).to_pylist()
    written = queries.column("user_query").to_pylist() if "user_query" in queries.column_names else ids
    for query, found, text in zip(ids, hits, written, strict=True):
        shown = [
            (numbers[str(each)], position, (str(query), str(each)) in clicked)
            for position, each in enumerate(found or (), start=1)
            if str(each) in numbers
        ]
        if shown:
            rows += shown
            sizes.append(len(shown))
            texts.append(text)
    if not rows:
        raise ArgumentError("--items", "none of the objects that queries returned", "a row for each, by `document`")
    documents, positions, clicks = (np.array(each) for each in zip(*rows, strict=True))
    return Log(
        features=known[documents],
        names=names,
        offsets=np.concatenate([[0], np.cumsum(sizes)]),
        positions=positions,
        clicks=clicks,
        queries=np.unique(np.array(texts, dtype=str), return_inverse=True)[1].ravel(),
        documents=documents,
        notes=notes,
    )


def _clicked(events: pa.Table, action: str) -> set[tuple[str, str]]:
    """The query and the object of every event of that name."""
    columns = (events.column(name).to_pylist() for name in ("action_name", "query_id", "event_attributes"))
    found = ((query, _object_id(told)) for name, query, told in zip(*columns, strict=True) if name == action)
    return {(str(query), str(each)) for query, each in found if query is not None and each is not None}


def _object_id(attributes: Any) -> Any:
    told = attributes.get("object") if isinstance(attributes, dict) else None
    return told.get("object_id") if isinstance(told, dict) else None
