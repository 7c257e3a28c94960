"""Certain orders, blocks and the exploration draw of a ranker with pairwise confidence.

Everything here is in the order of scores: document 0 has the highest. Symbols: s scores; W = X M^-1; G = W X^T, so that
G_ii + G_jj - 2 G_ij is the squared width ||x_i - x_j||^2 in the norm of M^-1; a the width's factor (alpha). i stands
surely above j if and only if sigma(s_i - s_j) - a ||x_ij|| > 1/2, which needs s_i > s_j.
"""

import cython
import numpy as np
from cython.cimports.fairexp.kernels.numbers import Bool, ConstBool, ConstFloat, ConstInt
from cython.cimports.libc.math import exp, sqrt
from cython.cimports.libc.stdint import int64_t
from cython.cimports.libc.stdlib import calloc, free

WITHIN_BLOCK = {"certain": 0, "random": 1, "score": 2}


def surely_far(
    s: ConstFloat[::1], squares: ConstFloat[::1], a: cython.double, first: cython.Py_ssize_t, last: cython.Py_ssize_t
) -> int:
    """The first position that certainly stands below all of `first`..`last` - 1 whatever the angles between them.

    ||x_i - x_j|| is at most ||x_i|| + ||x_j||; `squares` (n,) holds G_ii. From there down every order is certain.
    """
    end: cython.Py_ssize_t = s.shape[0]
    longest: cython.double = 0.0
    longest_below: cython.double = 0.0
    width: cython.double
    z: cython.double
    with cython.nogil:
        for i in range(first, last):
            longest = max(longest, squares[i])
        for j in range(end - 1, last - 1, -1):
            longest_below = max(longest_below, squares[j])
            width = a * (sqrt(longest) + sqrt(longest_below))
            z = s[last - 1] - s[j]
            if not (z > 4.0 * width and 1.0 / (1.0 + exp(-z)) - width > 0.5 + 1e-9):
                break
            end = j
    return end


def mark_certain(
    s: ConstFloat[::1],
    squares: ConstFloat[::1],
    G: ConstFloat[:, ::1],
    a: cython.double,
    first: cython.Py_ssize_t,
    certain: Bool[:, ::1],
    above: int64_t[::1],
    below: int64_t[::1],
    last: int64_t[::1],
) -> None:
    """Enter what rows `first`.. of the relation hold: `G` (m, c) are their products with positions `first`...

    Positions beyond the columns of `G` stand surely below. `last` (n,) is the last position uncertain with each.
    """
    n, rows, columns = s.shape[0], G.shape[0], G.shape[1]
    sure = cython.cast(cython.pointer[int64_t], calloc(columns + 1, cython.sizeof(int64_t)))
    if sure == cython.NULL:
        raise MemoryError
    with cython.nogil:
        for r in range(rows):
            i = first + r
            count = columns - r - 1
            if count > 0:
                _decide_row(
                    cython.address(s[i]), cython.address(squares[i]), cython.address(G[r, r + 1]), a, count, sure
                )
                below[i] += _enter_row(
                    sure,
                    count,
                    cython.address(certain[i, i + 1]),
                    cython.address(above[i + 1]),
                    cython.address(last[i]),
                )
            for j in range(first + columns, n):
                certain[i, j] = True
                above[j] += 1
            below[i] += n - first - columns
        free(sure)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _decide_row(
    s: cython.p_const_double,
    squares: cython.p_const_double,
    products: cython.p_const_double,
    a: cython.double,
    count: cython.Py_ssize_t,
    sure: cython.pointer[int64_t],
) -> cython.void:
    """Fill `sure` (count,): whether the first of `s` and `squares` (1 + count,) stands surely above each other one.

    The first pass has no branch and no root, which vectorises; it leaves only those pairs open (2) that need more.
    """
    own_score, own_square, slope = s[0], squares[0], 16.0 * a * a
    z: cython.double
    square: cython.double
    n_open: int64_t = 0
    for c in range(count):
        z = own_score - s[c + 1]
        square = max(own_square + squares[c + 1] - 2.0 * products[c], 0.0)
        # With y twice the width: sigma(z) - 1/2 > y / 2 needs z > 2 y, and follows from z (1 - y^2) > 2 y. Both are
        # compared squared, the second with room for rounding.
        y2 = 0.25 * slope * square
        room = z * (1.0 - y2)
        possible: int64_t = (z * z > slope * square) & (z > 0.0)
        enough: int64_t = (y2 < 1.0) & (room * room >= slope * square * (1.0 + 1e-11) + 1e-18)
        sure[c] = possible * 2 - (possible & enough)
        n_open += possible & (1 - enough)
    if n_open == 0:
        return
    for c in range(count):
        if sure[c] == 2:
            z = own_score - s[c + 1]
            square = max(own_square + squares[c + 1] - 2.0 * products[c], 0.0)
            sure[c] = 1.0 / (1.0 + exp(-z)) - a * sqrt(square) > 0.5


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _enter_row(
    sure: cython.pointer[int64_t],
    count: cython.Py_ssize_t,
    certain: cython.pointer[Bool],
    above: cython.pointer[int64_t],
    last: cython.pointer[int64_t],
) -> int64_t:
    """Copy `sure` (count,) into `certain` (count,) and add it to `above` (count,); returns its sum.

    `last` goes up by one more than the last place that holds a 0.
    """
    below: int64_t = 0
    place: int64_t = 0
    farthest: int64_t = 0
    for c in range(count):
        place += 1
        above[c] += sure[c]
        below += sure[c]
        farthest = max(farthest, place & (sure[c] - 1))
    for c in range(count):
        certain[c] = cython.cast(Bool, sure[c])
    last[0] += farthest
    return below


def price_orders(
    s: ConstFloat[::1],
    slope: cython.double,
    costs: cython.uchar[:, ::1],
    sure: cython.double,
    certain: cython.int,
    clear: cython.double,
) -> None:
    """Turn whether orders are kept, `costs` (n, n), into what reversing each is expected to cost, of `sure`.

    That is P(i above j) - P(j above i) with odds of exp(slope (s_i - s_j)) to 1, rounded. An order that is not kept, or
    whose odds are below exp(`clear`) to 1, costs less than `certain`.
    """
    n = s.shape[0]
    price: cython.int
    odds = cython.cast(cython.p_double, calloc(n, cython.sizeof(cython.double)))
    if odds == cython.NULL:
        raise MemoryError
    # An order whose odds are beyond any number is not clear of a limit that is.
    share: cython.double = exp(-clear) if clear < 700.0 else -1.0
    with cython.nogil:
        far: cython.bint = slope * s[0] - slope * s[n - 1] >= 700.0
        for i in range(n):
            odds[i] = 0.0 if far else exp(slope * s[i] - slope * s[0])
        for i in range(n):
            if not far:
                _price_row(odds + i, cython.address(costs[i, i]), n - i, sure, certain, share)
                continue
            for j in range(i + 1, n):
                ratio = exp(slope * s[j] - slope * s[i])
                price = cython.cast(cython.int, sure * (1.0 - ratio) / (1.0 + ratio) + 0.5)
                most: cython.int = 255 if costs[i, j] and ratio <= share else certain - 1
                costs[i, j] = cython.cast(cython.uchar, min(price, most))
        free(odds)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _price_row(
    odds: cython.p_double,
    costs: cython.p_uchar,
    count: cython.Py_ssize_t,
    sure: cython.double,
    certain: cython.int,
    share: cython.double,
) -> cython.void:
    """Price the orders of the first of `odds` (count,) with each other one."""
    own = odds[0]
    enough = own * share
    for c in range(1, count):
        price = cython.cast(cython.int, sure * ((own - odds[c]) / (own + odds[c])) + 0.5)
        most: cython.int = 255 if costs[c] and odds[c] <= enough else certain - 1
        costs[c] = cython.cast(cython.uchar, min(price, most))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _number_blocks(last: ConstInt[::1], block: int64_t[::1]) -> cython.void:
    """Fill `block` (n,), best first: a block ends at a position that no uncertain pair crosses.

    Certain orders point from the higher score to the lower, so a running maximum of "the last position that is still
    uncertain with this one" finds every end, and no graph is needed.
    """
    current: int64_t = 0
    reach: int64_t = 0
    for p in range(last.shape[0]):
        if p > reach:
            current += 1
            reach = p
        block[p] = current
        reach = max(reach, last[p])


def explore(
    certain: ConstBool[:, ::1],
    last: ConstInt[::1],
    above: ConstInt[::1],
    below: ConstInt[::1],
    keys: ConstFloat[::1],
    shuffled: ConstInt[::1],
    within_block: cython.int,
) -> tuple:
    """Blocks (n,) and one order (n,) that respects them; inside a block as `within_block` says (see `WITHIN_BLOCK`).

    `keys` (n,) are uniform random numbers. "certain" places, one after the other, a document chosen uniformly among
    those with no unplaced document surely above them; "random" takes them as they come in `shuffled` (n,), a random
    order of all, which nothing else needs; "score" keeps the order of scores.
    """
    n = last.shape[0]
    blocks, order = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    block: int64_t[::1] = blocks
    draw: int64_t[::1] = order
    scratch = cython.cast(cython.pointer[int64_t], calloc(2 * n, cython.sizeof(int64_t)))
    if scratch == cython.NULL:
        raise MemoryError
    with cython.nogil:
        _number_blocks(last, block)
        start: cython.Py_ssize_t = 0
        while start < n and within_block == 0:
            end = start + 1
            while end < n and block[end] == block[start]:
                end += 1
            _draw_respecting(certain, above, below, start, end, keys, scratch, scratch + n, draw)
            start = end
        if within_block == 1:
            _draw_shuffled(block, shuffled, scratch, draw)
        elif within_block == 2:
            for m in range(n):
                draw[m] = m
        free(scratch)
    return blocks, order


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _draw_shuffled(
    block: int64_t[::1], shuffled: ConstInt[::1], next_place: cython.pointer[int64_t], draw: int64_t[::1]
) -> cython.void:
    """Fill `draw` with the blocks' positions, those of each block in the order in which `shuffled` has them."""
    n = block.shape[0]
    for p in range(n - 1, -1, -1):
        next_place[block[p]] = p
    for m in range(n):
        b = block[shuffled[m]]
        draw[next_place[b]] = shuffled[m]
        next_place[b] += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _draw_respecting(
    certain: ConstBool[:, ::1],
    above: ConstInt[::1],
    below: ConstInt[::1],
    start: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    keys: ConstFloat[::1],
    waiting_for: cython.pointer[int64_t],
    ready: cython.pointer[int64_t],
    draw: int64_t[::1],
) -> cython.void:
    """Fill `draw` from `start` to `end` with those positions in a random order that reverses no certain one."""
    n = draw.shape[0]
    n_ready: cython.Py_ssize_t = 0
    pick: cython.Py_ssize_t
    for i in range(start, end):
        # All documents of earlier blocks stand above and are placed already.
        waiting_for[i] = above[i] - start
        if waiting_for[i] == 0:
            ready[n_ready] = i
            n_ready += 1
    for at in range(start, end):
        pick = min(cython.cast(cython.Py_ssize_t, keys[at] * n_ready), n_ready - 1)
        chosen = ready[pick]
        n_ready -= 1
        ready[pick] = ready[n_ready]
        draw[at] = chosen
        if below[chosen] > n - end and _release(cython.address(certain[chosen, 0]), chosen + 1, end, waiting_for):
            for other in range(chosen + 1, end):
                if certain[chosen, other] and waiting_for[other] == 0:
                    ready[n_ready] = other
                    n_ready += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _release(
    below: cython.pointer[ConstBool],
    first: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    waiting_for: cython.pointer[int64_t],
) -> int64_t:
    """Count down `waiting_for` of those of `first`..`end` - 1 that stand `below` (n,); how many then wait for nobody.

    It has no branch, which vectorises.
    """
    n_free: int64_t = 0
    stands_below: int64_t
    for other in range(first, end):
        stands_below = below[other]
        waiting_for[other] -= stands_below
        n_free += stands_below & (waiting_for[other] == 0)
    return n_free
