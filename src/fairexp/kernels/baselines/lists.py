"""How the rivals fill and judge a list, position by position."""

import cython
import numpy as np
from cython.cimports.fairexp.kernels.algebra.linear import pick_top
from cython.cimports.fairexp.kernels.numbers import ConstBool, ConstFloat, ConstInt
from cython.cimports.libc.stdint import int64_t

ANY = cython.declare(cython.long, -1)


def click_chances(rates: ConstFloat[::1], patience: cython.double):
    """The chance (k,) of a click on a list with these click `rates` (k,) if its first 1, 2, ..., k are shuffled.

    Users go on with `patience` before each document. Someone who has seen m documents of a shuffled prefix has seen
    each subset of m with the same chance; the sum of the subsets' products is an elementary symmetric polynomial e_m,
    which grows by one document at a time. `after[m]` is the chance to leave without a click after m documents or more,
    which no shuffle of fewer changes.
    """
    k = rates.shape[0]
    result = np.empty(k)
    chances: cython.double[::1] = result
    e: cython.double[::1] = np.zeros(k + 1)
    leaves: cython.double[::1] = np.empty(k + 1)
    after: cython.double[::1] = np.zeros(k + 1)
    here: cython.double = 1.0
    subsets: cython.double
    left: cython.double
    with cython.nogil:
        for m in range(k + 1):
            leaves[m] = here if m == k else here * (1.0 - patience)
            here *= patience
        here = 1.0
        for m in range(1, k + 1):
            here *= 1.0 - rates[m - 1]
            after[m] = here * leaves[m]
        for m in range(k - 1, -1, -1):
            after[m] += after[m + 1]
        e[0] = 1.0
        for n in range(1, k + 1):
            for m in range(n, 0, -1):
                e[m] += (1.0 - rates[n - 1]) * e[m - 1]
            left = after[n + 1] if n < k else 0.0
            subsets = 1.0
            for m in range(n + 1):
                left += leaves[m] * e[m] / subsets
                subsets *= cython.cast(cython.double, n - m) / (m + 1)
            chances[n - 1] = 1.0 - left
    return result


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _best(
    scores: ConstFloat[::1], keys: ConstFloat[::1], groups: ConstInt[::1], used: cython.uchar[::1], wanted: int64_t
) -> cython.Py_ssize_t:
    """The best document that is not `used`, of group `wanted` unless that is ANY; -1 where there is none."""
    found: cython.Py_ssize_t = -1
    for i in range(scores.shape[0]):
        if used[i] or (wanted != ANY and groups[i] != wanted):
            continue
        if found < 0 or scores[i] > scores[found] or (scores[i] == scores[found] and keys[i] < keys[found]):
            found = i
    return found


def lifted_list(
    scores: ConstFloat[::1],
    weight: cython.double,
    lift: ConstFloat[::1],
    of: ConstInt[::1],
    keys: ConstFloat[::1],
    k: cython.Py_ssize_t,
):
    """The min(k, n) documents that are best by `weight` times score plus the `lift` (m,) of their unit `of` (n,).

    Equals go by the smaller of `keys` (n,).
    """
    n = scores.shape[0]
    result = np.empty(min(k, n), dtype=np.int64)
    best: int64_t[::1] = result
    lifted: cython.double[::1] = np.empty(n)
    with cython.nogil:
        for i in range(n):
            lifted[i] = weight * scores[i] + lift[of[i]]
        pick_top(cython.address(lifted[0]), keys, n, cython.address(best[0]), best.shape[0])
    return result


def worst_off_list(
    scores: ConstFloat[::1],
    keys: ConstFloat[::1],
    groups: ConstInt[::1],
    had: ConstFloat[:, ::1],
    merit: ConstFloat[::1],
    P: ConstFloat[::1],
    fair: ConstBool[::1],
    ties: ConstFloat[::1],
):
    """A list (k,) by `scores` (n,), equals by `keys` (n,): where `fair` (k,), the worst-off group's best document.

    Worst off is the group with the least exposure `had` (G, k) down to this position, with what this list gives it, per
    `merit` (G,); equals go by the smaller of `ties` (G,). Groups without documents left do not count.
    """
    n, k, n_groups = scores.shape[0], P.shape[0], merit.shape[0]
    result = np.empty(k, dtype=np.int64)
    shown: int64_t[::1] = result
    now: cython.double[::1] = np.zeros(n_groups)
    depth: cython.double[::1] = np.zeros(n_groups)
    left: int64_t[::1] = np.bincount(groups, minlength=n_groups)
    used: cython.uchar[::1] = np.zeros(n, dtype=np.uint8)
    least: cython.double
    standing: cython.double
    with cython.nogil:
        for p in range(k):
            wanted: cython.Py_ssize_t = ANY
            least = 0.0
            for g in range(n_groups):
                depth[g] += had[g, p]
                if not fair[p] or left[g] == 0:
                    continue
                standing = (depth[g] + now[g]) / merit[g]
                if wanted == ANY or standing < least or (standing == least and ties[g] < ties[wanted]):
                    wanted, least = g, standing
            document = _best(scores, keys, groups, used, wanted)
            used[document] = 1
            shown[p] = document
            now[groups[document]] += P[p]
            left[groups[document]] -= 1
    return result


def template_list(scores: ConstFloat[::1], keys: ConstFloat[::1], groups: ConstInt[::1], template: ConstInt[::1]):
    """A list (k,) with the group that `template` (k,) names at each position, its best by `scores` (n,).

    Where that group has no document left, the best of all that are left. Equals go by the smaller of `keys` (n,).
    """
    k = template.shape[0]
    result = np.empty(k, dtype=np.int64)
    shown: int64_t[::1] = result
    used: cython.uchar[::1] = np.zeros(scores.shape[0], dtype=np.uint8)
    with cython.nogil:
        for p in range(k):
            document = _best(scores, keys, groups, used, template[p])
            if document < 0:
                document = _best(scores, keys, groups, used, ANY)
            used[document] = 1
            shown[p] = document
    return result


def mixed_list(
    scores: ConstFloat[::1],
    keys: ConstFloat[::1],
    groups: ConstInt[::1],
    wanted: ConstFloat[::1],
    weight: cython.double,
    ties: ConstFloat[::1],
    k: cython.Py_ssize_t,
):
    """A list (k,) by `weight` times score plus `wanted` (G,) times 1 - the group's share of the list so far.

    Documents of a group come by `scores` (n,), equals by `keys` (n,); equal groups go by the smaller of `ties` (G,).
    """
    n_groups = wanted.shape[0]
    result = np.empty(k, dtype=np.int64)
    shown: int64_t[::1] = result
    counts: int64_t[::1] = np.zeros(n_groups, dtype=np.int64)
    head: int64_t[::1] = np.empty(n_groups, dtype=np.int64)
    used: cython.uchar[::1] = np.zeros(scores.shape[0], dtype=np.uint8)
    best: cython.double
    value: cython.double
    with cython.nogil:
        for g in range(n_groups):
            head[g] = _best(scores, keys, groups, used, g)
        for p in range(k):
            chosen: cython.Py_ssize_t = -1
            best = 0.0
            for g in range(n_groups):
                if head[g] < 0:
                    continue
                value = wanted[g] * (1.0 - cython.cast(cython.double, counts[g]) / max(p, 1))
                value += weight * scores[head[g]]
                if chosen < 0 or value > best or (value == best and ties[g] < ties[chosen]):
                    chosen, best = g, value
            shown[p] = head[chosen]
            used[head[chosen]] = 1
            counts[chosen] += 1
            head[chosen] = _best(scores, keys, groups, used, chosen)
    return result
