"""The memory of each query: who is forgotten, who joins, and that a state is exact."""

from __future__ import annotations

import numpy as np
import pytest

from fairexp import FairExp, Query
from fairexp.checks.comparison import first_difference
from fairexp.errors import ArgumentError, StateError
from fairexp.query_memory import Field, QueryMemory
from fairexp.rankers import CascadeUCB1, TopRank

FIELDS = {"one": Field(), "pairs": Field(np.bool_, axes=2), "slots": Field(np.int64, width=3)}


def filled(*, max_queries=3, max_documents=4):
    """A memory in which every number tells which query and document it is of."""
    memory = QueryMemory(FIELDS, max_queries=max_queries, max_documents=max_documents)
    for number, (query, documents) in enumerate([("q", ["a", "b"]), (7, [1, 2, 3]), ("7", ["1"])]):
        record, _ = memory.note(query, documents, number)
        record.tables["one"][:] = 10 * number + np.arange(len(documents))
        record.tables["pairs"][:] = np.triu(np.ones((len(documents), len(documents)), dtype=bool))
        record.tables["slots"][:] = number
        record.rounds = number
    return memory


def query(document_ids, query_id="q"):
    return Query(features=np.zeros((len(document_ids), 1)), query_id=query_id, document_ids=document_ids)


def test_the_query_that_was_shown_least_recently_goes_first():
    memory = filled()
    memory.note("q", ["a", "b"], 3)
    memory.note("new", ["a"], 4)
    assert list(memory.records) == ["7", "q", "new"]
    memory.note(7, [1, 2, 3], 5)
    assert memory.records[7].born == 5 and not memory.records[7].tables["one"].any()


def test_looking_makes_no_query_recent():
    memory = filled()
    memory.look("q", ["a", "b"])
    memory.note("new", ["a"], 3)
    assert "q" not in memory.records


def test_documents_are_found_in_any_order_and_unknown_ones_are_blank():
    tables, rounds = filled().look(7, [3, 99, 1])
    assert tables["one"].tolist() == [12.0, 0.0, 10.0] and rounds == 1
    assert tables["pairs"].tolist() == [[True, False, False], [False, False, False], [True, False, True]]
    assert tables["slots"].shape == (3, 3) and tables["slots"][:, 0].tolist() == [1, 0, 1]


def test_documents_that_come_later_join():
    memory = filled()
    record, joined = memory.note("q", ["c", "a", "b"], 9)
    assert record.documents == ["a", "b", "c"] and joined.tolist() == [2]
    assert record.tables["one"].tolist() == [0.0, 1.0, 0.0]
    assert record.tables["pairs"].tolist() == [[True, True, False], [False, True, False], [False] * 3]


def test_documents_that_were_candidates_least_recently_go_first():
    memory = filled()
    memory.note("q", ["b", "c", "d"], 5)
    record, _ = memory.note("q", ["d", "e"], 6)
    assert record.documents == ["b", "c", "d", "e"]  # a was a candidate last at 0
    record, _ = memory.note("q", list("uvwxyz"), 7)
    assert record.documents == list("uvwxyz")  # all candidates are held, however many
    assert record.seen.tolist() == [7] * 6


def test_a_state_is_exact_and_keeps_texts_and_numbers_apart():
    memory = filled()
    memory.note("ends with nothing\x00", ["\x00"], 8)
    copy = QueryMemory(FIELDS, max_queries=3, max_documents=4)
    copy.restore(memory.state())
    assert first_difference(memory.state(), copy.state()) is None
    assert list(copy.records) == list(memory.records) == [7, "7", "ends with nothing\x00"]
    assert copy.records[7].documents == [1, 2, 3] and copy.records["7"].documents == ["1"]


def test_a_smaller_memory_takes_over_the_queries_that_were_shown_last():
    copy = QueryMemory(FIELDS, max_queries=1, max_documents=4)
    copy.restore(filled().state())
    assert list(copy.records) == ["7"]


def test_a_state_whose_parts_do_not_belong_together_is_refused():
    ranker = TopRank(1, length=2, seed=0)
    ranker.rank(query(["a", "b", "c"]))
    for name in ("queries.seen", "queries.table.lead", "queries.counts"):
        state = ranker.state()
        state[name] = state[name][:-1]
        before = ranker.state()
        with pytest.raises(StateError, match=name.removeprefix("queries.")):
            ranker.restore(state)
        assert first_difference(before, ranker.state()) is None


@pytest.mark.parametrize(
    "without", [Query(features=[[0.0]], query_id="q"), Query(features=[[0.0]], document_ids=["a"])], ids=["ids", "id"]
)
def test_a_query_without_ids_is_refused_with_the_remedy(without):
    with pytest.raises(ArgumentError, match=r"query\.(query_id|document_ids)"):
        TopRank(1).rank(without)
    fair = FairExp(TopRank(1, length=1), tolerance=9.0, beta=1.0)
    with pytest.raises(ArgumentError, match=r"query\.(query_id|document_ids)"):
        fair.rank(Query(without.features, groups=[0], query_id=without.query_id, document_ids=without.document_ids))


def test_feedback_for_what_was_forgotten_is_dropped():
    ranker = CascadeUCB1(1, length=2, max_queries=1, seed=0)
    old = ranker.rank(query(["a", "b"]))
    ranker.rank(query(["a"], "other"))
    ranker.update(old, [True, False])  # forgotten
    ranker.rank(query(["a", "b"]))
    ranker.update(old, [True, False])  # begun anew since
    assert ranker.queries.records["q"].rounds == 0
    assert not ranker.queries.records["q"].tables["views"].any()


def test_feedback_names_documents_whatever_has_joined_or_gone():
    ranker = CascadeUCB1(1, length=3, max_documents=3, seed=0)
    old = ranker.rank(query(["a", "b", "c"]))
    ranker.rank(query(["c", "d", "e"]))
    ranker.update(old, [False, False, False])
    record = ranker.queries.records["q"]
    views = dict(zip(record.documents, record.tables["views"].tolist(), strict=True))
    assert views == {"c": 1.0, "d": 0.0, "e": 0.0}
