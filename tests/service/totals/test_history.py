"""The history keeps the latest rounds one by one, all others in steps, and every excursion, in bounded memory."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairexp.service.totals import AT, LENGTH, ROUND, STEP, History

ALL = [np.random.default_rng(4).random(20_000), np.random.default_rng(5).random(20_000)]


def played(rounds: int) -> History:
    """A history of rounds that come every three seconds, with a running sum and a peak."""
    history, total = History(4, slice(3, 4)), np.cumsum(ALL[0])
    for number in range(1, rounds + 1):
        history.add(np.array([number, 3.0 * number, total[number - 1], ALL[1][number - 1]]))
    return history


@pytest.fixture(scope="module")
def long() -> History:
    return played(20_000)


@settings(max_examples=60, deadline=None)
@given(first=st.integers(1, 20_000), by=st.sampled_from([ROUND, AT]))
def test_any_range_has_rows_enough_and_says_what_happened(long: History, first: int, by: int) -> None:
    before, rows = long.since(by, first if by == ROUND else 3.0 * first)
    rounds, n_rounds = rows[:, ROUND].astype(int), 20_001 - first
    assert (np.diff(rounds) > 0).all() and rounds[-1] == 20_000 and rounds[0] >= first
    assert len(rows) >= min(n_rounds // STEP, LENGTH // STEP - 1)
    assert len(rows) <= LENGTH + STEP * len(long.levels)
    assert before[ROUND] < first <= before[ROUND] + max(np.diff([before[ROUND], *rounds]))
    sums = np.cumsum(ALL[0])
    assert rows[:, 2].tolist() == sums[rounds - 1].tolist()
    starts = np.array([before[ROUND], *rounds[:-1]], dtype=int)
    peaks = [ALL[1][start:end].max() for start, end in zip(starts, rounds, strict=True)]
    assert rows[1:, 3].tolist() == peaks[1:]


@pytest.mark.parametrize("rounds", [0, 1, LENGTH - 1, LENGTH, LENGTH + 1, LENGTH * STEP, LENGTH * STEP + 5])
def test_all_of_it_is_there_from_the_first_round(rounds: int) -> None:
    history = played(rounds)
    before, rows = history.since(ROUND, 1)
    assert not before.any()
    if rounds:
        assert rows[-1, ROUND] == rounds and rows[:, 3].max() == ALL[1][:rounds].max()
    thin = history.thinned(rows, 10)
    assert len(thin) == min(len(rows), 10)
    assert rounds == 0 or (thin[-1, ROUND] == rounds and thin[:, 3].max() == rows[:, 3].max())


def test_memory_grows_with_the_logarithm_of_the_rounds(long: History) -> None:
    assert len(long.levels) == 5  # 256 x 4^3 < 20,000 <= 256 x 4^4
    assert len(played(LENGTH - 1).levels) == 1
