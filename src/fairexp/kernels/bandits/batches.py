"""Batches and parts of one query's documents that are tried in turn: who is due, and what trials have come to."""

import cython
import numpy as np
from cython.cimports.fairexp.kernels.numbers import Bool, ConstBool, ConstFloat, ConstInt
from cython.cimports.libc.math import INFINITY
from cython.cimports.libc.stdint import int64_t


def smallest_counts(classes: ConstInt[::1], rows: ConstInt[::1], counts: ConstFloat[::1]):
    """The smallest count in the class of each candidate (n,), over those whose `rows` (n,) are known."""
    n = classes.shape[0]
    result = np.empty(n)
    smallest: cython.double[::1] = result
    with cython.nogil:
        for i in range(n):
            smallest[i] = INFINITY
            for j in range(n):
                if classes[i] == classes[j] and rows[j] >= 0 and counts[rows[j]] < smallest[i]:
                    smallest[i] = counts[rows[j]]
    return result


def least_counted(classes: ConstInt[::1], counts: ConstFloat[::1]):
    """Whether nobody in its class (n,) has a smaller count (n,) than each candidate."""
    n = classes.shape[0]
    result = np.ones(n, dtype=np.bool_)
    least: Bool[::1] = result
    with cython.nogil:
        for i in range(n):
            for j in range(n):
                if classes[i] == classes[j] and counts[j] < counts[i]:
                    least[i] = False
    return result


def count_batches(
    rows: ConstInt[::1],
    shown: ConstInt[::1],
    clicks: ConstBool[::1],
    due: ConstBool[::1],
    noted: tuple,
    tally: tuple,
    enough: cython.double,
):
    """Count the documents shown (m,) that were `due` (n,) and still are in the batch and stage `noted` (n,).

    The `tally` is by row: batch, stage, counts and clicks. Who of them (c,) have been counted `enough` is returned.
    """
    noted_batch: ConstInt[::1] = noted[0]
    noted_stage: ConstInt[::1] = noted[1]
    batch: ConstInt[::1] = tally[0]
    stage: ConstInt[::1] = tally[1]
    counts: cython.double[::1] = tally[2]
    clicked: cython.double[::1] = tally[3]
    found = np.empty(shown.shape[0], dtype=np.int64)
    counted: int64_t[::1] = found
    n: cython.Py_ssize_t = 0
    with cython.nogil:
        for p in range(shown.shape[0]):
            i, row = shown[p], rows[shown[p]]
            if row >= 0 and due[i] and batch[row] == noted_batch[i] and stage[row] == noted_stage[i]:
                counts[row] += 1.0
                clicked[row] += clicks[p]
                if counts[row] >= enough:
                    counted[n] = i
                    n += 1
    return found[:n]


def is_mixed(classes: ConstInt[::1], rows: ConstInt[::1], batch: ConstInt[::1], stage: ConstInt[::1]) -> bool:
    """Whether two candidates of one class are in different batches or at different stages."""
    for i in range(classes.shape[0]):
        for j in range(i):
            if classes[i] == classes[j]:
                a, b = rows[i], rows[j]
                if batch[a] != batch[b] or stage[a] != stage[b]:
                    return True
                break
    return False


def is_unsettled(
    lists: ConstInt[::1], first: ConstInt[::1], phase: ConstInt[::1], quota: ConstInt[::1], counts: ConstFloat[::1]
) -> bool:
    """Whether some part of some list must begin or end a phase.

    That is where a document is new (`first` is 0), where phases of one part differ or are 0, and where all its trials
    are done. Documents with a negative phase are dropped.
    """
    for i in range(lists.shape[0]):
        if first[i] == 0:
            return True
        if phase[i] < 0:
            continue
        is_done: cython.bint = True
        for j in range(lists.shape[0]):
            if lists[i] == lists[j] and first[i] == first[j] and phase[j] >= 0:
                if phase[i] != phase[j] or phase[j] == 0:
                    return True
                is_done = is_done and counts[j] >= quota[j]
        if is_done:
            return True
    return False


def with_trials(
    order: ConstInt[::1],
    lists: ConstInt[::1],
    first: ConstInt[::1],
    phase: ConstInt[::1],
    quota: ConstInt[::1],
    counts: ConstFloat[::1],
    fresh: ConstBool[::1],
    chances: ConstFloat[::1],
):
    """`order` (n,) with a document of each part, drawn by the trials that are left, moved to the part's front.

    Of its `quota` (n,) a document has had `counts` (n,), none where its phase is `fresh` (n,). `chances` (n,) are
    uniform; a part goes by that of its first document.
    """
    n = order.shape[0]
    result = np.array(order)
    draw: int64_t[::1] = result
    done: int64_t[::1] = np.zeros(n, dtype=np.int64)
    left: cython.double[::1] = np.empty(n)
    with cython.nogil:
        for i in range(n):
            left[i] = quota[i] if fresh[i] else max(quota[i] - counts[i], 0.0)
        for start in range(n):
            head = order[start]
            if done[start] or phase[head] < 0:
                continue
            total: cython.double = 0.0
            for p in range(start, n):
                if _same_part(order[p], head, lists, first, phase):
                    done[p] = True
                    total += left[order[p]]
            wanted = chances[head] * total
            chosen: cython.Py_ssize_t = start
            total = 0.0
            for p in range(start, n):
                if _same_part(order[p], head, lists, first, phase):
                    total += left[order[p]]
                    if total > wanted:
                        chosen = p
                        break
            last = order[chosen]
            for p in range(start, chosen + 1):
                if _same_part(order[p], head, lists, first, phase):
                    draw[p], last = last, order[p]
    return result


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _same_part(
    i: int64_t, head: int64_t, lists: ConstInt[::1], first: ConstInt[::1], phase: ConstInt[::1]
) -> cython.bint:
    return lists[i] == lists[head] and first[i] == first[head] and phase[i] >= 0


def part_orders(order: ConstInt[::1], lists: ConstInt[::1], first: ConstInt[::1], phase: ConstInt[::1]) -> tuple:
    """Scores (n,) and blocks (n,) of documents in `order` (n,) of parts, and who is surely above whom (n, n).

    Scores fall from 0 along the order. Blocks are parts that begin at the same position. What is not dropped stands
    above all later parts of its list.
    """
    n = order.shape[0]
    scores, blocks, certain = np.empty(n), np.zeros(n, dtype=np.int64), np.zeros((n, n), dtype=np.bool_)
    score: cython.double[::1] = scores
    block: int64_t[::1] = blocks
    above: Bool[:, ::1] = certain
    with cython.nogil:
        for p in range(n):
            i = order[p]
            score[i] = -p
            if p > 0:
                before = order[p - 1]
                block[i] = block[before] + (first[i] != first[before] or (phase[i] < 0) != (phase[before] < 0))
            for j in range(n):
                above[i, j] = phase[i] >= 0 and lists[i] == lists[j] and first[i] < first[j]
    return scores, blocks, certain


def count_trials(
    rows: ConstInt[::1],
    shown: ConstInt[::1],
    rewards: ConstFloat[::1],
    lists: ConstInt[::1],
    noted: tuple,
    tally: tuple,
):
    """Count the first shown document of each part as tried, if it still has the first position and phase `noted` (n,).

    The `tally` is by row: first position, phase, counts and rewards.
    """
    noted_first: ConstInt[::1] = noted[0]
    noted_phase: ConstInt[::1] = noted[1]
    first: ConstInt[::1] = tally[0]
    phase: ConstInt[::1] = tally[1]
    counts: cython.double[::1] = tally[2]
    earned: cython.double[::1] = tally[3]
    with cython.nogil:
        for p in range(shown.shape[0]):
            i, row = shown[p], rows[shown[p]]
            if noted_phase[i] < 0 or row < 0 or first[row] != noted_first[i] or phase[row] != noted_phase[i]:
                continue
            is_first: cython.bint = True
            for q in range(p):
                if _same_part(shown[q], i, lists, noted_first, noted_phase):
                    is_first = False
                    break
            if is_first:
                counts[row] += 1.0
                earned[row] += rewards[p]
