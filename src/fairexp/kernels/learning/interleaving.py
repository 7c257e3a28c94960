"""Two ranked lists mixed into one, and what the clicks on the mix say about the two.

Lists hold document indices, best first. The first list is that of the current ranker, the second its rival's.
"""

import cython
import numpy as np
from cython.cimports.fairexp.kernels.learning.linear import pick_top, scale_to_unit, score_duel
from cython.cimports.fairexp.kernels.numbers import ConstFloat, ConstInt
from cython.cimports.libc.math import pow
from cython.cimports.libc.stdint import int64_t
from cython.cimports.libc.stdlib import calloc, free

NOBODY = cython.declare(cython.double, 0.0)
CURRENT = cython.declare(cython.double, -1.0)
RIVAL = cython.declare(cython.double, 1.0)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _draft(
    current: cython.pointer[int64_t],
    rival: cython.pointer[int64_t],
    coins: ConstFloat[::1],
    used: cython.p_char,
    shown: int64_t[::1],
    team: cython.double[::1],
) -> cython.void:
    """Fill `shown` and `team` (m,) from two lists (m,), as `draft_by_score` says; `used` (n,) is given as all 0.

    `coins` (m,) say who begins each turn: the rival where one is below 1/2.
    """
    m = shown.shape[0]
    at: cython.Py_ssize_t = 0
    while at < m and current[at] == rival[at]:
        shown[at], team[at] = current[at], NOBODY
        used[shown[at]] = True
        at += 1
    next_current, next_rival = at, at
    turn: cython.Py_ssize_t = 0
    while at < m:
        for pick in range(2):
            if at == m:
                break
            if (pick == 0) == (coins[turn] < 0.5):
                while used[rival[next_rival]]:
                    next_rival += 1
                shown[at], team[at] = rival[next_rival], RIVAL
            else:
                while used[current[next_current]]:
                    next_current += 1
                shown[at], team[at] = current[next_current], CURRENT
            used[shown[at]] = True
            at += 1
        turn += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _draft_tops(
    scores: ConstFloat[::1],
    rival_scores: cython.p_const_double,
    uniforms: ConstFloat[::1],
    shown: int64_t[::1],
    team: cython.double[::1],
) -> cython.bint:
    """`draft_by_score` where there is something to show; False if memory is short."""
    n, m = scores.shape[0], shown.shape[0]
    tops = cython.cast(cython.pointer[int64_t], calloc(2 * m * cython.sizeof(int64_t) + n, 1))
    if tops == cython.NULL:
        return False
    pick_top(cython.address(scores[0]), uniforms, n, tops, m)
    pick_top(rival_scores, uniforms, n, tops + m, m)
    _draft(tops, tops + m, uniforms[n:], cython.cast(cython.p_char, tops + 2 * m), shown, team)
    free(tops)
    return True


def draft_by_score(
    scores: ConstFloat[::1],
    rival_scores: ConstFloat[::1],
    uniforms: ConstFloat[::1],
    shown: int64_t[::1],
    team: cython.double[::1],
) -> None:
    """Team-draft interleaving: fills `shown` and `team` (m,) with documents and the team of each, from scores (n,).

    What both rankers have at the top alike belongs to nobody (0). After it the rival (1) and the current ranker (-1)
    pick in turn. `uniforms` (n + m,) break ties, alike for both rankers, and then say who begins each turn: the rival
    where one is below 1/2.
    """
    if shown.shape[0] > 0 and not _draft_tops(scores, cython.address(rival_scores[0]), uniforms, shown, team):
        raise MemoryError


def draft_duel(
    features: ConstFloat[:, ::1],
    weights: ConstFloat[::1],
    direction: cython.double[::1],
    step: cython.double,
    uniforms: ConstFloat[::1],
    scores: cython.double[::1],
    shown: int64_t[::1],
    team: cython.double[::1],
) -> None:
    """A whole duel: fills `scores` (n,) of the current ranker, `shown` and `team` (m,); scales `direction` to length 1.

    A direction of 0 makes the rival the current ranker, and nobody wins.
    """
    scale_to_unit(direction)
    if shown.shape[0] == 0:
        return
    rival_scores = cython.cast(cython.p_double, calloc(scores.shape[0], cython.sizeof(cython.double)))
    if rival_scores == cython.NULL:
        raise MemoryError
    with cython.nogil:
        score_duel(features, weights, direction, step, cython.address(scores[0]), rival_scores)
        drafted = _draft_tops(scores, rival_scores, uniforms, shown, team)
        free(rival_scores)
    if not drafted:
        raise MemoryError


def draw_interleaved(
    current: ConstInt[::1], rival: ConstInt[::1], uniforms: ConstFloat[::1], power: cython.double
) -> tuple:
    """Probabilistic interleaving of two full lists (n,): documents shown (m,), chance that the rival placed each (m,).

    Either ranker places document d with a probability proportional to 1/rank(d)^power among the documents that are
    left; a fair coin says which of the two does. `uniforms` (m,) lie in [0, 1).
    """
    n, m = current.shape[0], uniforms.shape[0]
    by_current: cython.double[::1] = np.empty(n)
    by_rival: cython.double[::1] = np.empty(n)
    shown, chance = np.empty(m, dtype=np.int64), np.empty(m)
    shown_view: int64_t[::1] = shown
    chance_view: cython.double[::1] = chance
    with cython.nogil:
        for rank in range(n):
            by_current[current[rank]] = by_rival[rival[rank]] = pow(rank + 1.0, -power)
        for at in range(m):
            chosen = _place(by_current, by_rival, uniforms[at] * 2.0, cython.address(chance_view[at]))
            shown_view[at] = chosen
            by_current[chosen] = by_rival[chosen] = 0.0
    return shown, chance


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _place(
    by_current: cython.double[::1], by_rival: cython.double[::1], target: cython.double, chance: cython.p_double
) -> cython.Py_ssize_t:
    """The document at which both rankers' shares add up to more than `target`; `chance` that the rival placed it."""
    all_current: cython.double = 0.0
    all_rival: cython.double = 0.0
    for d in range(by_current.shape[0]):
        all_current += by_current[d]
        all_rival += by_rival[d]
    reached: cython.double = 0.0
    chosen: cython.Py_ssize_t = 0
    for d in range(by_current.shape[0]):
        if by_current[d] == 0.0:
            continue
        chosen = d
        reached += by_current[d] / all_current + by_rival[d] / all_rival
        if reached > target:
            break
    from_rival = by_rival[chosen] / all_rival
    chance[0] = from_rival / (from_rival + by_current[chosen] / all_current)
    return chosen


def expected_sign(chance: ConstFloat[::1]) -> float:
    """P(most clicked documents are the rival's) - P(most are the current ranker's), over all assignments.

    `chance` (c,) is the probability that the rival placed each clicked document. The rival's count is a sum of
    independent coins (Poisson-binomial); its distribution is built coin by coin.
    """
    c = chance.shape[0]
    count = cython.cast(cython.p_double, calloc(c + 1, cython.sizeof(cython.double)))
    if count == cython.NULL:
        raise MemoryError
    sign: cython.double = 0.0
    with cython.nogil:
        count[0] = 1.0
        for i in range(c):
            for k in range(i + 1, 0, -1):
                count[k] = count[k] * (1.0 - chance[i]) + count[k - 1] * chance[i]
            count[0] *= 1.0 - chance[i]
        for k in range(c + 1):
            if 2 * k > c:
                sign += count[k]
            elif 2 * k < c:
                sign -= count[k]
        free(count)
    return sign
