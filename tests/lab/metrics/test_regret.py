"""Mis-ordered pairs against the definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairexp.errors import ArgumentError
from fairexp.lab.metrics import misordered_pairs


def by_definition(shown, relevance):
    """Every pair of documents; a document that is not shown has an infinite position."""
    position = {document: place for place, document in enumerate(shown)}
    place = [position.get(document, float("inf")) for document in range(len(relevance))]
    return sum(
        relevance[i] > relevance[j] and place[j] < place[i]
        for i in range(len(relevance))
        for j in range(len(relevance))
    )


@given(relevance=st.lists(st.integers(0, 4), min_size=1, max_size=9), data=st.data())
@settings(deadline=None, derandomize=True, max_examples=80)
def test_definition(relevance, data):
    order = data.draw(st.permutations(range(len(relevance))))
    shown = order[: data.draw(st.integers(0, len(relevance)))]
    assert misordered_pairs(np.array(shown, dtype=np.int64), relevance) == by_definition(shown, relevance)


def test_best_and_worst():
    relevance = np.array([0, 1, 2, 3])
    assert misordered_pairs([3, 2, 1, 0], relevance) == 0
    assert misordered_pairs([0, 1, 2, 3], relevance) == 6
    assert misordered_pairs([0], relevance) == 3
    assert misordered_pairs([], relevance) == 0


@pytest.mark.parametrize(
    ("shown", "message"),
    [
        ([0, 3], "shown: expected indices from 0 to 2, got document 3"),
        ([-1], "shown: expected indices from 0 to 2, got document -1"),
        ([1, 1], "shown: expected distinct documents"),
        ([0.5], "shown: expected document indices"),
        ([[0]], "shown: expected document indices"),
    ],
)
def test_bad_input_is_named(shown, message):
    with pytest.raises(ArgumentError, match=message):
        misordered_pairs(shown, [0, 1, 2])
