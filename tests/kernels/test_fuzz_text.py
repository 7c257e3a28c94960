"""The kernel that reads text, on text of every kind: no byte beyond its end is read, and it never stands still."""

import re

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fairexp.kernels.data import letor
from tests.kernels.test_fuzz import many


@many
@given(st.text("0123456789.eE+-:# \tqidxnaf\r\n", max_size=120), st.integers(0, 4), st.integers(1, 5))
def test_text_of_any_kind(text, width, n_rows):
    check_parsing(text.encode(), width, n_rows)


@many
@given(
    st.lists(
        st.tuples(
            st.integers(-1, 9), st.integers(0, 3), st.lists(st.tuples(st.integers(0, 5), st.floats()), max_size=6)
        ),
        max_size=6,
    ),
    st.integers(0, 5),
    st.integers(1, 5),
    st.booleans(),
)
def test_text_that_is_nearly_right(lines, width, n_rows, has_query):
    text = "".join(
        f"{grade} {f'qid:{query}' * has_query} {' '.join(f'{feature}:{value!r}' for feature, value in features)}\n"
        for grade, query, features in lines
    )
    check_parsing(text.encode(), width, n_rows, has_query)


def check_parsing(text, width, n_rows, has_query=True):
    """Parse to the end, as a caller would; a copy of exactly this size, so that no byte beyond it is read unseen."""
    block = np.array(list(text + b"\n"), dtype=np.uint8)
    before_comments = [line.partition(b"#")[0] for line in text.split(b"\n")]
    ids = [int(found) for line in before_comments for found in re.findall(rb"(?:^|[ \t\r\v\f])(\d+):", line)]
    assert letor.largest_id(block) == min(max(ids, default=0), 1 << 40)
    at, code = 0, letor.FULL
    while code == letor.FULL:
        features, grades = np.empty((n_rows, width), dtype=np.float32), np.empty(n_rows, dtype=np.int64)
        runs, odd = np.empty((n_rows, 4), dtype=np.int64), np.empty((2 * width + 2, 4), dtype=np.int64)
        code, stop, rows, n_runs, n_odd, _, begin, end = letor.parse_lines(
            block, at, features, grades, runs, odd, has_query
        )
        assert at <= stop <= len(block) and 0 <= begin <= end <= len(block)
        assert rows <= n_rows and n_runs <= rows + (code > letor.FULL) and n_odd <= len(odd)
        assert code != letor.FULL or stop > at
        at = stop
