"""Parsing blocks of LETOR text, byte by byte.

A block is an array of bytes that ends with a newline. `parse_lines` fills a dense matrix from it and stops at the
first thing that it does not like; the caller turns the code it returns into words. Numbers that cannot be rounded to
float32 with certainty here (about one in ten million, and exponents beyond 22) are left to the caller as "odd".
"""

import cython
import numpy as np
from cython.cimports.fairexp.kernels.numbers import ConstByte
from cython.cimports.libc.math import floor
from cython.cimports.libc.stdint import int64_t, uint64_t
from cython.cimports.libc.string import memcpy

END, FULL, BAD_GRADE, NO_QUERY, NO_VALUE, BAD_ID, TOO_WIDE, DUPLICATE = range(8)

GRADE_COLUMN = -1
"""In the table of odd numbers: the number is a grade, not a feature."""

_END = cython.declare(cython.int, END)
_FULL = cython.declare(cython.int, FULL)
_BAD_GRADE = cython.declare(cython.int, BAD_GRADE)
_NO_QUERY = cython.declare(cython.int, NO_QUERY)
_NO_VALUE = cython.declare(cython.int, NO_VALUE)
_BAD_ID = cython.declare(cython.int, BAD_ID)
_TOO_WIDE = cython.declare(cython.int, TOO_WIDE)
_DUPLICATE = cython.declare(cython.int, DUPLICATE)

_MAX_ID = cython.declare(cython.Py_ssize_t, 1 << 40)
_POWERS = cython.declare(cython.double[23])  # 10^22 is the last power of ten that float64 holds exactly
for _power in range(23):
    _POWERS[_power] = 10.0**_power


@cython.cclass
class Reader:
    """A place in a text, the outputs that it is read into, and what was found at the place."""

    text: ConstByte[::1]
    at: cython.Py_ssize_t
    has_query: cython.bint
    features: cython.float[:, ::1]
    odd: int64_t[:, ::1]
    seen: int64_t[::1]  # the last row in which each feature occurred
    row: cython.Py_ssize_t
    n_odd: cython.Py_ssize_t
    value: cython.double  # of the number read last
    begin: cython.Py_ssize_t  # of the token in question
    end: cython.Py_ssize_t

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def skip_blanks(self) -> cython.void:
        while _is_blank(self.text[self.at]):
            self.at += 1

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def token_end(self, at: cython.Py_ssize_t) -> cython.Py_ssize_t:
        while not _ends_token(self.text[at]):
            at += 1
        return at

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def stop(self, code: cython.int, begin: cython.Py_ssize_t, at: cython.Py_ssize_t) -> cython.int:
        """Report `code` about the token from `begin` to the end of what stands at `at`."""
        self.begin, self.end = begin, self.token_end(at)
        return code

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def leave_odd(self, column: cython.Py_ssize_t, begin: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.void:
        """Note a number that the caller must settle."""
        self.odd[self.n_odd, 0] = self.row
        self.odd[self.n_odd, 1] = column
        self.odd[self.n_odd, 2] = begin
        self.odd[self.n_odd, 3] = end
        self.n_odd += 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def read_exponent(self) -> cython.Py_ssize_t:
        """The exponent that follows an `e`; at the `e` itself, still, if that is none."""
        at = self.at + 1
        negative: cython.bint = self.text[at] == ord("-")
        if negative or self.text[at] == ord("+"):
            at += 1
        first = at
        value: cython.Py_ssize_t = 0
        while _is_digit(self.text[at]):
            value = min(value * 10 + (self.text[at] - ord("0")), 9999)
            at += 1
        if at == first:
            return 0
        self.at = at
        return -value if negative else value

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def read_number(self) -> cython.bint:
        """Read the number at hand into `value`; whether it rounds to the right float32."""
        at = self.at
        negative: cython.bint = self.text[at] == ord("-")
        if negative or self.text[at] == ord("+"):
            at += 1
        mantissa: uint64_t = 0
        n_digits: cython.Py_ssize_t = 0
        n_seen: cython.Py_ssize_t = 0
        power: cython.Py_ssize_t = 0
        after_dot: cython.bint = False
        while True:
            c: cython.uchar = self.text[at]
            if _is_digit(c):
                n_seen += 1
                if n_digits < 19:  # the most decimal digits that always fit into 64 bits
                    mantissa = mantissa * 10 + (c - ord("0"))
                    n_digits += mantissa != 0
                    power -= after_dot
                else:
                    power += not after_dot
            elif c == ord(".") and not after_dot:
                after_dot = True
            else:
                break
            at += 1
        self.at = at
        if n_seen and (self.text[at] == ord("e") or self.text[at] == ord("E")):
            power += self.read_exponent()
        if n_seen == 0 or not _ends_token(self.text[self.at]):
            return False
        if mantissa != 0 and (power < -22 or power > 22):
            return False
        value = cython.cast(cython.double, mantissa)
        if mantissa != 0 and power != 0:
            value = value * _POWERS[power] if power > 0 else value / _POWERS[-power]
        self.value = -value if negative else value
        return mantissa == 0 or (power == 0 and n_digits <= 15) or _rounds_surely(value)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def read_header(self, grade: cython.pointer[int64_t]) -> cython.int:
        """Read the grade, and the query's id, which is the token in question then (empty where lines have none)."""
        begin = self.at
        end = self.token_end(begin)
        sure = self.read_number()
        if self.at != end:
            return self.stop(_BAD_GRADE, begin, begin)
        if not sure:
            self.leave_odd(-1, begin, end)
            self.value = 0.0
        elif not 0 <= self.value <= 2147483647.0 or self.value != floor(self.value):
            return self.stop(_BAD_GRADE, begin, begin)
        grade[0] = cython.cast(int64_t, self.value)
        self.skip_blanks()
        begin = self.at
        if not self.has_query:
            self.begin = self.end = begin
            return _END
        self.end = self.token_end(begin)
        if self.end - begin <= 4 or not _is_query(self.text[begin : begin + 4]):
            return self.stop(_NO_QUERY, begin, begin)
        self.begin, self.at = begin + 4, self.end
        return _END

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def read_features(self) -> cython.int:
        """Read `id:value` pairs into the row, up to the line's end."""
        while True:
            self.skip_blanks()
            begin = self.at
            at = begin
            if self.text[at] == ord("\n") or self.text[at] == ord("#"):
                return _END
            feature: cython.Py_ssize_t = 0
            while _is_digit(self.text[at]):
                feature = _add_digit(feature, self.text[at])
                at += 1
            if self.text[at] != ord(":") or feature == 0:
                return self.stop(_BAD_ID, begin, at)
            at += 1
            if _ends_token(self.text[at]):
                return self.stop(_NO_VALUE, begin, at)
            if feature > self.features.shape[1]:
                return self.stop(_TOO_WIDE, begin, at)
            if self.seen[feature - 1] == self.row:
                return self.stop(_DUPLICATE, begin, at)
            self.seen[feature - 1] = self.row
            self.at = at
            if self.read_number():
                self.features[self.row, feature - 1] = cython.cast(cython.float, self.value)
            else:
                self.at = self.token_end(self.at)
                self.leave_odd(feature - 1, at, self.at)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _is_digit(c: cython.uchar) -> cython.bint:
    return ord("0") <= c <= ord("9")


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _is_blank(c: cython.uchar) -> cython.bint:
    return c == 32 or c == 9 or c == 13 or c == 11 or c == 12


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _ends_token(c: cython.uchar) -> cython.bint:
    return _is_blank(c) or c == ord("\n") or c == ord("#")


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _add_digit(number: cython.Py_ssize_t, digit: cython.uchar) -> cython.Py_ssize_t:
    """One more decimal digit of an id, which is no larger than 2^40, whatever it says."""
    return min(number * 10 + (digit - ord("0")), _MAX_ID)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _rounds_surely(value: cython.double) -> cython.bint:
    """Whether a float64 that is off by less than 3 units in the last place still gives the right float32."""
    bits: uint64_t = 0
    memcpy(cython.address(bits), cython.address(value), 8)
    from_midpoint = cython.cast(int64_t, bits & ((1 << 29) - 1)) - (1 << 28)  # of the 29 bits that float32 lacks
    return from_midpoint > 4 or from_midpoint < -4


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _is_query(text: ConstByte[::1]) -> cython.bint:
    return text[0] == ord("q") and text[1] == ord("i") and text[2] == ord("d") and text[3] == ord(":")


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _same(a: ConstByte[::1], b: ConstByte[::1]) -> cython.bint:
    if a.shape[0] != b.shape[0]:
        return False
    for i in range(a.shape[0]):
        if a[i] != b[i]:
            return False
    return True


def parse_lines(
    text: ConstByte[::1],
    at: cython.Py_ssize_t,
    features: cython.float[:, ::1],
    grades: int64_t[::1],
    runs: int64_t[:, ::1],
    odd: int64_t[:, ::1],
    has_query: cython.bint,
) -> tuple:
    """Parse lines of `text` (n,) uint8 from `at` until its end, a problem, or a full output array.

    Fills `features` (r, d) and `grades` (r,); `runs` (r, 4) with the first row of each run of equal query ids, the id's
    begin and end in `text`, and the line of that row; `odd` (m >= d + 1, 4) with row, column, begin and end of the
    numbers left to the caller. Without `has_query` lines have no query id. Returns (code, position, rows, runs, odd
    numbers, lines read, token's begin and end).
    """
    reader = Reader()
    reader.text, reader.features, reader.odd, reader.at = text, features, odd, at
    reader.has_query = has_query
    reader.seen = np.full(features.shape[1], -1, dtype=np.int64)
    n_runs: cython.Py_ssize_t = 0
    n_lines: cython.Py_ssize_t = 0
    code = _END
    start = at
    with cython.nogil:
        while reader.at < text.shape[0] and code == _END:
            start = reader.at
            code = _parse_line(reader, grades, runs, cython.address(n_runs), n_lines)
            n_lines += code == _END
    stop = reader.at if code == _END else start
    if code in (_END, _FULL):
        reader.begin = reader.end = stop
    return code, stop, reader.row, n_runs, reader.n_odd, n_lines, reader.begin, reader.end


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _parse_line(
    reader: Reader,
    grades: int64_t[::1],
    runs: int64_t[:, ::1],
    n_runs: cython.pointer[cython.Py_ssize_t],
    line: cython.Py_ssize_t,
) -> cython.int:
    """Read one line into the next row; an empty one is skipped."""
    reader.skip_blanks()
    row, width = reader.row, reader.features.shape[1]
    if reader.text[reader.at] != ord("\n") and reader.text[reader.at] != ord("#"):
        if row == reader.features.shape[0] or reader.n_odd + width + 1 > reader.odd.shape[0]:
            return _FULL
        code = reader.read_header(cython.address(grades[row]))
        if code != _END:
            return code
        last = n_runs[0] - 1
        begin, end = reader.begin, reader.end
        if last < 0 or not _same(reader.text[runs[last, 1] : runs[last, 2]], reader.text[begin:end]):
            runs[last + 1, 0], runs[last + 1, 1], runs[last + 1, 2], runs[last + 1, 3] = row, begin, end, line
            n_runs[0] += 1
        for feature in range(width):
            reader.features[row, feature] = 0.0
        code = reader.read_features()
        if code != _END:
            return code
        reader.row += 1
    while reader.text[reader.at] != ord("\n"):
        reader.at += 1
    reader.at += 1
    return _END


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _id_before(text: ConstByte[::1], line: cython.Py_ssize_t, colon: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """The number between the token's start, in the line that begins at `line`, and its first colon; 0 if it is none."""
    begin = colon
    while begin > line and _is_digit(text[begin - 1]):
        begin -= 1
    if begin > line and not _is_blank(text[begin - 1]):
        return 0
    number: cython.Py_ssize_t = 0
    for at in range(begin, colon):
        number = _add_digit(number, text[at])
    return number


def largest_id(text: ConstByte[::1]) -> int:
    """The largest number that stands before a colon outside of comments, 0 if there is none."""
    largest: cython.Py_ssize_t = 0
    line: cython.Py_ssize_t = 0
    comment: cython.bint = False
    c: cython.uchar
    with cython.nogil:
        for at in range(text.shape[0]):
            c = text[at]
            if c == ord(":"):
                if not comment:
                    largest = max(largest, _id_before(text, line, at))
            elif c <= ord("#"):  # no digit, of which most of the text consists
                comment = c == ord("#") or (comment and c != ord("\n"))
                line = at + 1 if c == ord("\n") else line
    return largest
