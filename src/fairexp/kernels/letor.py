"""Parsing blocks of LETOR text, byte by byte.

A block is an array of bytes that ends with a newline. `parse_lines` fills a dense matrix from it and stops at the
first thing that it does not like; the caller turns the code it returns into words. Numbers that cannot be rounded to
float32 with certainty here (about one in ten million, and exponents beyond 22) are left to the caller as "odd".
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairexp.kernels.compiling import kernel

Text = NDArray[np.uint8]
Values = NDArray[np.float32]
Table = NDArray[np.int64]

END, FULL = 0, 1
BAD_GRADE, NO_QUERY, NO_VALUE, BAD_ID, TOO_WIDE, DUPLICATE = 2, 3, 4, 5, 6, 7

GRADE_COLUMN = -1
"""In the table of odd numbers: the number is a grade, not a feature."""

_NEWLINE, _HASH, _COLON, _PLUS, _MINUS, _DOT = 10, 35, 58, 43, 45, 46
_POWERS = 10.0 ** np.arange(23)  # 10^22 is the last power of ten that float64 holds exactly
_MAX_DIGITS = 19  # the most decimal digits that always fit into 64 bits
_MAX_GRADE = 2147483647.0
_MAX_ID = 1 << 40
_LOW_BITS = np.uint64((1 << 29) - 1)  # the bits of a float64 that float32 lacks
_MIDPOINT = 1 << 28
_UNSURE = 4  # float64 units in the last place; the arithmetic below errs by less than 3


@kernel(nogil=True, inline="always")
def _is_blank(c: int) -> bool:
    return c == 32 or c == 9 or c == 13 or c == 11 or c == 12


@kernel(nogil=True, inline="always")
def _ends_token(c: int) -> bool:
    return _is_blank(c) or c == _NEWLINE or c == _HASH


@kernel(nogil=True)
def _token_end(text: Text, at: int) -> int:
    while not _ends_token(text[at]):
        at += 1
    return at


@kernel(nogil=True)
def _exponent(text: Text, at: int) -> tuple[int, int]:
    """(exponent, next position) of what follows an `e`; the position is the `e` itself if that is no exponent."""
    begin = at
    at += 1
    negative = text[at] == _MINUS
    if negative or text[at] == _PLUS:
        at += 1
    first = at
    value = 0
    while 48 <= text[at] <= 57:
        value = min(value * 10 + (text[at] - 48), 9999)
        at += 1
    if at == first:
        return 0, begin
    return (-value if negative else value), at


@kernel(nogil=True)
def _number(text: Text, at: int) -> tuple[float, bool, int]:
    """(value, whether it rounds to the right float32, next position) of the number that begins at `at`."""
    negative = text[at] == _MINUS
    if negative or text[at] == _PLUS:
        at += 1
    mantissa = np.uint64(0)
    n_digits = 0
    n_seen = 0
    power = 0
    after_dot = False
    while True:
        c = text[at]
        if 48 <= c <= 57:
            n_seen += 1
            if n_digits < _MAX_DIGITS:
                mantissa = mantissa * np.uint64(10) + np.uint64(c - 48)
                n_digits += mantissa != 0
                power -= after_dot
            else:
                power += not after_dot
        elif c == _DOT and not after_dot:
            after_dot = True
        else:
            break
        at += 1
    if n_seen and (text[at] == 101 or text[at] == 69):
        shift, at = _exponent(text, at)
        power += shift
    if n_seen == 0 or not _ends_token(text[at]):
        return 0.0, False, at
    value = np.float64(mantissa)
    sure = True
    if mantissa != 0:
        if power < -22 or power > 22:
            return 0.0, False, at
        value = value * _POWERS[power] if power > 0 else value / _POWERS[-power]
        if power != 0 or n_digits > 15:
            low = np.int64(np.float64(value).view(np.uint64) & _LOW_BITS)
            sure = bool(abs(low - _MIDPOINT) > _UNSURE)
    return (-value if negative else value), sure, at


@kernel(nogil=True)
def _same(text: Text, a: int, a_end: int, b: int, b_end: int) -> bool:
    if a_end - a != b_end - b:
        return False
    for i in range(a_end - a):
        if text[a + i] != text[b + i]:
            return False
    return True


@kernel(nogil=True)
def _header(text: Text, at: int, odd: Table, n_odd: int, row: int) -> tuple[int, int, int, int, int]:
    """(code, grade, query id's begin and end, n_odd) of a line whose first token begins at `at`."""
    end = _token_end(text, at)
    value, sure, stop = _number(text, at)
    if stop != end:
        return BAD_GRADE, 0, at, end, n_odd
    if not sure:
        odd[n_odd, 0], odd[n_odd, 1], odd[n_odd, 2], odd[n_odd, 3] = row, GRADE_COLUMN, at, end
        n_odd += 1
    elif not 0 <= value <= _MAX_GRADE or value != np.floor(value):
        return BAD_GRADE, 0, at, end, n_odd
    at = end
    while _is_blank(text[at]):
        at += 1
    end = _token_end(text, at)
    is_query = end - at > 4 and text[at] == 113 and text[at + 1] == 105 and text[at + 2] == 100
    if not is_query or text[at + 3] != _COLON:
        return NO_QUERY, 0, at, end, n_odd
    return END, int(value), at + 4, end, n_odd


@kernel(nogil=True)
def _pairs(
    text: Text, at: int, values: Values, odd: Table, n_odd: int, row: int, seen: Table
) -> tuple[int, int, int, int]:
    """Read `id:value` pairs into `values` (d,) up to the line's end: (code, token's begin, end, n_odd)."""
    while True:
        while _is_blank(text[at]):
            at += 1
        if text[at] == _NEWLINE or text[at] == _HASH:
            return END, at, at, n_odd
        begin = at
        feature = 0
        while 48 <= text[at] <= 57:
            feature = min(feature * 10 + (text[at] - 48), _MAX_ID)
            at += 1
        if text[at] != _COLON or feature == 0:
            return BAD_ID, begin, _token_end(text, at), n_odd
        at += 1
        if _ends_token(text[at]):
            return NO_VALUE, begin, at, n_odd
        if feature > values.shape[0]:
            return TOO_WIDE, begin, _token_end(text, at), n_odd
        if seen[feature - 1] == row:
            return DUPLICATE, begin, _token_end(text, at), n_odd
        seen[feature - 1] = row
        value, sure, stop = _number(text, at)
        if sure:
            values[feature - 1] = value
            at = stop
        else:
            end = _token_end(text, stop)
            odd[n_odd, 0], odd[n_odd, 1], odd[n_odd, 2], odd[n_odd, 3] = row, feature - 1, at, end
            n_odd += 1
            at = end


@kernel(nogil=True)
def parse_lines(
    text: Text, at: int, features: Values, grades: Table, runs: Table, odd: Table
) -> tuple[int, int, int, int, int, int, int, int]:
    """Parse lines of `text` (n,) uint8 from `at` until its end, a problem, or a full output array.

    Fills `features` (r, d) and `grades` (r,); `runs` (r, 4) with the first row of each run of equal query ids, the id's
    begin and end in `text`, and the line of that row; `odd` (m >= d + 1, 4) with row, column, begin and end of the
    numbers left to the caller. Returns (code, position, rows, runs, odd numbers, lines read, token's begin and end).
    """
    width = features.shape[1]
    seen = np.full(width, -1, dtype=np.int64)
    row, n_runs, n_odd, n_lines = 0, 0, 0, 0
    while at < text.shape[0]:
        start = at
        while _is_blank(text[at]):
            at += 1
        if text[at] != _NEWLINE and text[at] != _HASH:
            if row == features.shape[0] or n_odd + width + 1 > odd.shape[0]:
                return FULL, start, row, n_runs, n_odd, n_lines, start, start
            code, grade, begin, end, n_odd = _header(text, at, odd, n_odd, row)
            if code == END:
                grades[row] = grade
                last = n_runs - 1
                if last < 0 or not _same(text, runs[last, 1], runs[last, 2], begin, end):
                    runs[n_runs, 0], runs[n_runs, 1], runs[n_runs, 2], runs[n_runs, 3] = row, begin, end, n_lines
                    n_runs += 1
                features[row] = 0.0
                code, begin, end, n_odd = _pairs(text, end, features[row], odd, n_odd, row, seen)
            if code != END:
                return code, start, row, n_runs, n_odd, n_lines, begin, end
            at = end
            row += 1
        while text[at] != _NEWLINE:
            at += 1
        at += 1
        n_lines += 1
    return END, at, row, n_runs, n_odd, n_lines, at, at


@kernel(nogil=True)
def largest_id(text: Text) -> int:
    """The largest number that stands before a colon outside of comments, 0 if there is none."""
    largest, number, is_number, comment = 0, 0, True, False
    for c in text:
        if c == _NEWLINE:
            comment = False
        elif c == _HASH:
            comment = True
        if 48 <= c <= 57:
            number = min(number * 10 + (c - 48), _MAX_ID)
        elif c == _COLON and is_number and not comment:
            largest = max(largest, number)
            is_number = False
        elif _ends_token(c):
            number, is_number = 0, True
        else:
            is_number = False
    return largest
