"""How the rivals fill and judge a list, position by position."""

import cython
import numpy as np
from cython.cimports.fairexp.kernels.numbers import ConstBool, ConstFloat, ConstInt
from cython.cimports.libc.stdint import int64_t


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


def worst_off_list(
    order: ConstInt[::1],
    groups: ConstInt[::1],
    had: ConstFloat[:, ::1],
    merit: ConstFloat[::1],
    P: ConstFloat[::1],
    fair: ConstBool[::1],
    ties: ConstInt[::1],
):
    """A list (k,) from documents in `order` (n,), the best first: where `fair` (k,), the worst-off group's best.

    Worst off is the group with the least exposure `had` (G, k) down to this position, with what this list gives it, per
    `merit` (G,); equals go by their place in `ties` (G,). Groups without documents left do not count.
    """
    n, k, n_groups = order.shape[0], P.shape[0], merit.shape[0]
    result = np.empty(k, dtype=np.int64)
    shown: int64_t[::1] = result
    now: cython.double[::1] = np.zeros(n_groups)
    depth: cython.double[::1] = np.zeros(n_groups)
    left: int64_t[::1] = np.bincount(groups, minlength=n_groups).astype(np.int64)
    used: cython.uchar[::1] = np.zeros(n, dtype=np.uint8)
    least: cython.double
    standing: cython.double
    with cython.nogil:
        for p in range(k):
            wanted: cython.Py_ssize_t = -1
            least = 0.0
            for g in range(n_groups):
                depth[g] += had[g, p]
            if fair[p]:
                for t in range(n_groups):
                    group = ties[t]
                    if left[group] == 0:
                        continue
                    standing = (depth[group] + now[group]) / merit[group]
                    if wanted < 0 or standing < least:
                        wanted, least = group, standing
            for place in range(n):
                document = order[place]
                if not used[place] and (wanted < 0 or groups[document] == wanted):
                    used[place] = 1
                    shown[p] = document
                    now[groups[document]] += P[p]
                    left[groups[document]] -= 1
                    break
    return result


def template_list(order: ConstInt[::1], groups: ConstInt[::1], template: ConstInt[::1]):
    """A list (k,) with the group that `template` (k,) names at each position, its best by `order` (n,).

    Where that group has no document left, the best of all that are left.
    """
    n, k = order.shape[0], template.shape[0]
    result = np.empty(k, dtype=np.int64)
    shown: int64_t[::1] = result
    used: cython.uchar[::1] = np.zeros(n, dtype=np.uint8)
    with cython.nogil:
        for p in range(k):
            chosen: cython.Py_ssize_t = -1
            for place in range(n):
                if used[place]:
                    continue
                if groups[order[place]] == template[p]:
                    chosen = place
                    break
                if chosen < 0:
                    chosen = place
            used[chosen] = 1
            shown[p] = order[chosen]
    return result


def mixed_list(
    order: ConstInt[::1],
    groups: ConstInt[::1],
    scores: ConstFloat[::1],
    wanted: ConstFloat[::1],
    weight: cython.double,
    ties: ConstInt[::1],
    k: cython.Py_ssize_t,
):
    """A list (k,) by `weight` times score plus `wanted` (G,) times 1 - the group's share of the list so far.

    Documents of a group come in `order` (n,), the best first; equal groups go by their place in `ties` (G,).
    """
    n, n_groups = order.shape[0], wanted.shape[0]
    result = np.empty(k, dtype=np.int64)
    shown: int64_t[::1] = result
    counts: int64_t[::1] = np.zeros(n_groups, dtype=np.int64)
    at: int64_t[::1] = np.zeros(n_groups, dtype=np.int64)
    best: cython.double
    value: cython.double
    with cython.nogil:
        for p in range(k):
            chosen: cython.Py_ssize_t = -1
            best = 0.0
            for t in range(n_groups):
                group = ties[t]
                while at[group] < n and groups[order[at[group]]] != group:
                    at[group] += 1
                if at[group] == n:
                    continue
                value = wanted[group] * (1.0 - cython.cast(cython.double, counts[group]) / max(p, 1))
                value += weight * scores[order[at[group]]]
                if chosen < 0 or value > best:
                    chosen, best = group, value
            shown[p] = order[at[chosen]]
            at[chosen] += 1
            counts[chosen] += 1
    return result
