"""Orders between the documents of one query: layers, blocks and chains of them, and duels that lead to more."""

import cython
import numpy as np
from cython.cimports.fairexp.kernels.numbers import Bool, ConstBool, ConstFloat, ConstInt
from cython.cimports.libc.stdint import int64_t
from cython.cimports.libc.stdlib import calloc, free


def layers(better: ConstBool[:, ::1]):
    """The layer (n,) of each document of an acyclic relation (n, n).

    0 has nothing above it, the next nothing but that, and so on.

    >>> layers(np.array([[0, 1, 0], [0, 0, 0], [0, 0, 0]], dtype=bool))
    array([0, 1, 0])
    """
    n = better.shape[0]
    result = np.zeros(n, dtype=np.int64)
    layer: int64_t[::1] = result
    changed: cython.bint = True
    with cython.nogil:
        while changed:
            changed = False
            for i in range(n):
                for j in range(n):
                    if better[i, j] and layer[j] <= layer[i]:
                        layer[j] = layer[i] + 1
                        changed = True
    return result


def net_orders(better: ConstBool[:, ::1]):
    """How many documents each (n,) is certainly above, less those that it is certainly below."""
    n = better.shape[0]
    result = np.zeros(n)
    net: cython.double[::1] = result
    with cython.nogil:
        for i in range(n):
            for j in range(n):
                net[i] += better[i, j]
                net[j] -= better[i, j]
    return result


def blocks_along(order: ConstInt[::1], better: ConstBool[:, ::1]):
    """The block (n,) of each document: `order` is cut wherever all orders across the cut are certain."""
    n = order.shape[0]
    result = np.zeros(n, dtype=np.int64)
    block: int64_t[::1] = result
    number: int64_t = 0
    last: cython.Py_ssize_t = 0
    with cython.nogil:
        for p in range(n):
            if p > last:
                number += 1
            block[order[p]] = number
            for q in range(n - 1, max(last, p) - 1, -1):
                if not better[order[p], order[q]]:
                    last = q
                    break
    return result


def blocks_by_group(block: ConstInt[::1], better: ConstBool[:, ::1], groups: ConstInt[::1]):
    """A number (n,) for each block and group, or None where an order is between documents of different groups (n,)."""
    n = block.shape[0]
    n_groups: int64_t = 0
    for i in range(n):
        n_groups = max(n_groups, groups[i] + 1)
        for j in range(n):
            if better[i, j] and groups[i] != groups[j]:
                return None
    result = np.empty(n, dtype=np.int64)
    numbers: int64_t[::1] = result
    for i in range(n):
        numbers[i] = block[i] * n_groups + groups[i]
    return result


def chains(lead: ConstFloat[:, ::1], lists: ConstInt[::1], keys: ConstFloat[::1], length: cython.Py_ssize_t) -> tuple:
    """The rank (n,) of each document in its list, and whether (n,) the list's chain is shorter than its positions.

    Of each of `lists` (n,) the first documents are a chain: they trail nobody that comes after them, where `lead` is
    negative. Of several that could come next, the one with the smallest of `keys` (n,) does. What is left when none
    can, or when there are `length`, follows by the number of documents that it trails.

    >>> chains(np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]), np.zeros(3, dtype=int),
    ...        np.array([0.1, 0.3, 0.2]), 3)
    (array([2, 1, 0]), array([False, False, False]))
    """
    n = keys.shape[0]
    ranks, unchained = np.empty(n, dtype=np.int64), np.zeros(n, dtype=np.bool_)
    rank: int64_t[::1] = ranks
    is_open: Bool[::1] = unchained
    trailed: int64_t[::1] = np.zeros(n, dtype=np.int64)
    done: int64_t[::1] = np.zeros(n, dtype=np.int64)
    with cython.nogil:
        for i in range(n):
            for j in range(n):
                trailed[i] += lists[i] == lists[j] and lead[i, j] < 0.0
        for i in range(n):
            if not done[i]:
                _chain(lead, lists, keys, length, lists[i], trailed, done, rank, is_open)
    return ranks, unchained


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _chain(
    lead: ConstFloat[:, ::1],
    lists: ConstInt[::1],
    keys: ConstFloat[::1],
    length: cython.Py_ssize_t,
    each: int64_t,
    trailed: int64_t[::1],
    done: int64_t[::1],
    rank: int64_t[::1],
    is_open: Bool[::1],
) -> cython.void:
    """Rank the documents of one list."""
    n = keys.shape[0]
    size: cython.Py_ssize_t = 0
    goes_on: cython.bint = True
    is_short: cython.bint = False
    for i in range(n):
        size += lists[i] == each
    for p in range(size):
        chosen: cython.Py_ssize_t = -1
        for i in range(n):
            if lists[i] != each or done[i]:
                continue
            if chosen < 0 or trailed[i] < trailed[chosen]:
                chosen = i
            elif trailed[i] == trailed[chosen] and keys[i] < keys[chosen]:
                chosen = i
        if goes_on and p < length and trailed[chosen] > 0:
            is_short = True
        goes_on = goes_on and p < length and trailed[chosen] == 0
        rank[chosen], done[chosen] = p, True
        if goes_on:
            for i in range(n):
                if lists[i] == each and lead[i, chosen] < 0.0:
                    trailed[i] -= 1
    for i in range(n):
        if lists[i] == each:
            is_open[i] = is_short


def filled(template: ConstInt[::1], groups: ConstInt[::1], order: ConstInt[::1]):
    """The documents (m,) that stand in a `template` (m,) if each group's are taken in the order given (n,).

    >>> filled(np.array([1, 0, 1]), np.array([0, 0, 1, 1]), np.array([3, 1, 0, 2]))
    array([3, 1, 2])
    """
    result = np.empty(template.shape[0], dtype=np.int64)
    shown: int64_t[::1] = result
    taken: int64_t[::1] = np.zeros(order.shape[0], dtype=np.int64)
    with cython.nogil:
        for p in range(template.shape[0]):
            for q in range(order.shape[0]):
                if not taken[q] and groups[order[q]] == template[p]:
                    shown[p], taken[q] = order[q], True
                    break
    return result


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _rival(
    members: cython.pointer[int64_t],
    size: cython.Py_ssize_t,
    border: cython.Py_ssize_t,
    better: ConstBool[:, ::1],
    chance: cython.double,
) -> cython.Py_ssize_t:
    """One of the positions below `border` that the last above it is not certainly ahead of, drawn uniformly, or -1."""
    n_rivals: cython.Py_ssize_t = 0
    for p in range(border, size):
        n_rivals += not better[members[border - 1], members[p]]
    wanted = cython.cast(cython.Py_ssize_t, chance * n_rivals)
    for p in range(border, size):
        if not better[members[border - 1], members[p]]:
            if wanted == 0:
                return p
            wanted -= 1
    return -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _shuffle(members: cython.pointer[int64_t], size: cython.Py_ssize_t, keys: ConstFloat[:]) -> cython.void:
    """Sort the documents by `keys` (n,)."""
    for p in range(1, size):
        document = members[p]
        at = p
        while at > 0 and keys[members[at - 1]] > keys[document]:
            members[at] = members[at - 1]
            at -= 1
        members[at] = document


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _exchange(
    members: cython.pointer[int64_t],
    size: cython.Py_ssize_t,
    border: cython.Py_ssize_t,
    better: ConstBool[:, ::1],
    chances: ConstFloat[:, ::1],
    classes: int64_t[::1],
) -> cython.void:
    """Pair the neighbours of one list and exchange those whose chance says so, as `exchange_neighbours` says."""
    lower: cython.Py_ssize_t
    head = members[0]
    upper: cython.Py_ssize_t = 0 if chances[2, head] < 0.5 else 1
    while upper < border:
        lower = upper + 1 if upper + 1 < border else _rival(members, size, border, better, chances[3, head])
        if lower > 0 and not better[members[upper], members[lower]]:
            above, below = members[upper], members[lower]
            classes[below] = above
            if chances[0, above] < 0.5:
                members[upper], members[lower] = below, above
        upper += 2


def exchange_neighbours(
    order: ConstInt[::1],
    lists: ConstInt[::1],
    is_open: ConstBool[::1],
    better: ConstBool[:, ::1],
    length: cython.Py_ssize_t,
    varied: cython.bint,
    chances: ConstFloat[:, ::1],
) -> tuple:
    """`order` (n,) with neighbours of the same of `lists` (n,) exchanged by chance; who was exchangeable (n,); scores.

    Scores (n,) fall along the order before any exchange.

    A list that `is_open` is shuffled as a whole. In others, neighbours among the first `length` that are not certainly
    in order are disjoint pairs, from the first or the second on, and each pair is exchanged or not. Where that leaves
    out the last, it meets one of the documents further down. `varied`: the border is not at `length`, but drawn.
    `chances` (4, n) are uniform: for each document its coin, and for each list's first its border, start and rival.
    """
    n = order.shape[0]
    drawn, alike, falling = np.array(order), np.arange(n), np.empty(n)
    scores: cython.double[::1] = falling
    draw: int64_t[::1] = drawn
    classes: int64_t[::1] = alike
    members: int64_t[::1] = np.empty(n, dtype=np.int64)
    places: int64_t[::1] = np.empty(n, dtype=np.int64)
    done: int64_t[::1] = np.zeros(n, dtype=np.int64)
    size: cython.Py_ssize_t
    with cython.nogil:
        for start in range(n):
            scores[order[start]] = -start
            if done[start]:
                continue
            head, size = order[start], 0
            for p in range(start, n):
                if lists[order[p]] == lists[head]:
                    members[size], places[size], done[p] = order[p], p, True
                    size += 1
            if is_open[head]:
                for p in range(size):
                    classes[members[p]] = head
                _shuffle(cython.address(members[0]), size, chances[0])
            else:
                border = min(length, size)
                if varied:
                    border = 1 + cython.cast(cython.Py_ssize_t, chances[1, head] * border)
                _exchange(cython.address(members[0]), size, border, better, chances, classes)
            for p in range(size):
                draw[places[p]] = members[p]
    return drawn, alike, falling


def count_duels(
    lead: cython.double[:, ::1],
    duels: cython.double[:, ::1],
    rows: ConstInt[::1],
    classes: ConstInt[::1],
    shown: ConstInt[::1],
    clicks: ConstBool[::1],
    least: cython.double,
):
    """Count for each pair of candidates of one class (n,) of which one was clicked that it led; what may be decided.

    `lead` and `duels` (N, N) are by `rows` (n,), negative where a document was forgotten; what was not shown was not
    clicked. Returned are the rows (p, 2) of winner and loser where the square of the winner's lead is at least `least`
    times the number of duels.
    """
    n = rows.shape[0]
    clicked = cython.cast(cython.p_char, calloc(n + 1, 1))
    if clicked == cython.NULL:
        raise MemoryError
    n_found: cython.Py_ssize_t = 0
    for p in range(shown.shape[0]):
        clicked[shown[p]] = clicks[p]
        n_found += clicks[p]
    result = np.empty((n_found * n, 2), dtype=np.int64)
    found: int64_t[:, ::1] = result
    n_found = 0
    with cython.nogil:
        for i in range(n):
            if not clicked[i] or rows[i] < 0:
                continue
            a = rows[i]
            for j in range(n):
                b = rows[j]
                if clicked[j] or b < 0 or classes[i] != classes[j]:
                    continue
                lead[a, b] += 1.0
                lead[b, a] -= 1.0
                duels[a, b] += 1.0
                duels[b, a] += 1.0
                if lead[a, b] > 0.0 and lead[a, b] * lead[a, b] >= least * duels[a, b]:
                    found[n_found, 0], found[n_found, 1] = a, b
                    n_found += 1
        free(clicked)
    return result[:n_found]
