"""Pairs of documents that a ranking shows in the wrong order, by counting the grades still to come."""

import cython
from cython.cimports.fairexp.kernels.numbers import ConstInt
from cython.cimports.libc.stdint import int64_t
from cython.cimports.libc.stdlib import calloc, free


def count_misordered(shown: ConstInt[::1], grades: ConstInt[::1], n_grades: cython.Py_ssize_t) -> int:
    """Pairs (i, j) with grades[i] > grades[j] and j above i; what is not shown stands below all of `shown`."""
    waiting = cython.cast(cython.pointer[int64_t], calloc(n_grades, cython.sizeof(int64_t)))
    if waiting == cython.NULL:
        raise MemoryError
    pairs: int64_t = 0
    grade: int64_t
    with cython.nogil:
        for document in range(grades.shape[0]):
            waiting[grades[document]] += 1
        for p in range(shown.shape[0]):
            grade = grades[shown[p]]
            waiting[grade] -= 1
            for better in range(grade + 1, n_grades):
                pairs += waiting[better]
        free(waiting)
    return pairs
