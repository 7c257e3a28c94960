"""What a query may carry, and what a ranking carries on."""

from __future__ import annotations

import numpy as np
import pytest

from fairexp import Query, RandomRanker
from fairexp.errors import ArgumentError
from fairexp.lab.data import world


def test_a_ranking_carries_the_ids_of_what_was_shown() -> None:
    query = Query(features=np.eye(4), query_id="q", document_ids=["a", "b", "c", "d"])
    ranking = RandomRanker(4, length=3, seed=1).rank(query)
    assert ranking.document_ids.tolist() == ["abcd"[i] for i in ranking.shown]
    assert RandomRanker(4, seed=1).rank(Query(features=np.eye(4))).document_ids is None


@pytest.mark.parametrize(
    ("ids", "told"),
    [
        (["a", "b"], "shape"),
        (["a", "b", "a"], "'a' twice"),
        ([7, 7, 8], "7 twice"),
        ([0.5, 1.0, 2.0], "dtype float64"),
        (["a", 1, "b"], "texts among numbers"),
        ([None, "a", "b"], "dtype object"),
    ],
)
def test_ids_that_tell_no_candidates_apart_are_refused(ids: list[object], told: str) -> None:
    with pytest.raises(ArgumentError, match=told) as caught:
        Query(features=np.eye(3), document_ids=ids)
    assert caught.value.argument == "document_ids"


def test_a_data_set_numbers_the_documents_of_a_query() -> None:
    query = world("yahoo-9", n_queries=3).query(2)
    assert query.document_ids.tolist() == list(range(query.n_candidates))
    assert query.query_id == "train-2"
