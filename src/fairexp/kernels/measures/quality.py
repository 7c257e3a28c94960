"""What one shown ranking is worth, in one pass: for loops that measure every round.

`fairexp.lab.metrics.ndcg` and `misordered_pairs` say the same about one ranking, with every argument checked.
Symbols: k positions count; `gain[g]` is 2^g - 1; `discount[p]` is 1 / log2(p + 2).
"""

import cython
from cython.cimports.fairexp.kernels.numbers import ConstFloat, ConstInt
from cython.cimports.libc.math import NAN
from cython.cimports.libc.stdint import int64_t
from cython.cimports.libc.stdlib import calloc, free


def shown_quality(
    shown: ConstInt[::1], grades: ConstInt[::1], gain: ConstFloat[::1], discount: ConstFloat[::1]
) -> tuple:
    """NDCG@k of the documents `shown` (m,) of a query with these `grades` (n,), and how many pairs are misordered.

    The second is -1 where `shown` is not made of distinct documents, or a grade has no `gain`.
    """
    waiting = cython.cast(cython.pointer[int64_t], calloc(gain.shape[0] + 1, cython.sizeof(int64_t)))
    used = cython.cast(cython.p_char, calloc(grades.shape[0] + 1, 1))
    if waiting == cython.NULL or used == cython.NULL:
        raise MemoryError
    reached: cython.double = NAN
    misordered: int64_t = -1
    with cython.nogil:
        ideal = _ideal(grades, gain, discount, waiting)
        if ideal >= 0.0:
            misordered = _walk(shown, grades, gain, discount, waiting, used, cython.address(reached))
        free(waiting)
        free(used)
    if misordered < 0:
        return NAN, -1
    return (reached / ideal if ideal > 0.0 else 0.0), misordered


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _ideal(
    grades: ConstInt[::1], gain: ConstFloat[::1], discount: ConstFloat[::1], waiting: cython.pointer[int64_t]
) -> cython.double:
    """DCG of the best order; counts grades into `waiting`, given as all 0. -1 where a grade has no gain."""
    n_grades, k = gain.shape[0], discount.shape[0]
    grade: int64_t
    for document in range(grades.shape[0]):
        grade = grades[document]
        if grade < 0 or grade >= n_grades:
            return -1.0
        waiting[grade] += 1
    ideal: cython.double = 0.0
    position: cython.Py_ssize_t = 0
    for better in range(n_grades - 1, 0, -1):
        for _ in range(min(waiting[better], k - position)):
            ideal += gain[better] * discount[position]
            position += 1
    return ideal


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _walk(
    shown: ConstInt[::1],
    grades: ConstInt[::1],
    gain: ConstFloat[::1],
    discount: ConstFloat[::1],
    waiting: cython.pointer[int64_t],
    used: cython.p_char,
    reached: cython.p_double,
) -> int64_t:
    """Misordered pairs, with DCG in `reached`, from the top down; -1 where `shown` is no list of distinct documents."""
    misordered: int64_t = 0
    document: int64_t
    grade: int64_t
    reached[0] = 0.0
    for p in range(shown.shape[0]):
        document = shown[p]
        if document < 0 or document >= grades.shape[0] or used[document]:
            return -1
        used[document] = True
        grade = grades[document]
        if p < discount.shape[0]:
            reached[0] += gain[grade] * discount[p]
        waiting[grade] -= 1
        for better in range(grade + 1, gain.shape[0]):
            misordered += waiting[better]
    return misordered
