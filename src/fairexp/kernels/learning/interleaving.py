"""Two ranked lists mixed into one, and what the clicks on the mix say about the two.

Lists hold document indices, best first. The first list is that of the current ranker, the second its rival's.
"""

import cython
import numpy as np
from cython.cimports.fairexp.kernels.learning.linear import pick_top, scale_to_unit, score_duel
from cython.cimports.fairexp.kernels.numbers import Bool, ConstBool, ConstFloat, ConstInt
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
    current: ConstInt[::1],
    rival: ConstInt[::1],
    rival_first: ConstBool[::1],
    used: Bool[::1],
    shown: int64_t[::1],
    team: cython.double[::1],
) -> cython.void:
    """Fill `shown` and `team` (m,) as `draft_teams` says; `used` (n,) is given as all False."""
    m = current.shape[0]
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
            if (pick == 0) == rival_first[turn]:
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


def draft_teams(current: ConstInt[::1], rival: ConstInt[::1], rival_first: ConstBool[::1], n_documents: int) -> tuple:
    """Team-draft interleaving of the top m of two lists: the documents shown (m,) and the team of each (m,).

    What both lists share at the top belongs to nobody (0). After it the rival (1) and the current ranker (-1) pick in
    turn; `rival_first` (m,) are the coins that say who begins each turn.
    """
    m = current.shape[0]
    shown, team = np.empty(m, dtype=np.int64), np.empty(m)
    shown_view: int64_t[::1] = shown
    team_view: cython.double[::1] = team
    used: Bool[::1] = np.zeros(n_documents, dtype=np.bool_)
    with cython.nogil:
        _draft(current, rival, rival_first, used, shown_view, team_view)
    return shown, team


@cython.ccall
def draft_by_score(
    scores: ConstFloat[::1],
    rival_scores: ConstFloat[::1],
    uniforms: ConstFloat[::1],
    shown: int64_t[::1],
    team: cython.double[::1],
) -> cython.void:
    """Fill `shown` and `team` (m,) with documents and the team of each, from both rankers' scores (n,).

    `uniforms` (n + m,) break ties, alike for both rankers, and then say who begins each turn.
    """
    n, m = scores.shape[0], shown.shape[0]
    tops: int64_t[:, ::1] = np.empty((2, m), dtype=np.int64)
    flags: Bool[::1] = np.zeros(m + n, dtype=np.bool_)
    with cython.nogil:
        for turn in range(m):
            flags[turn] = uniforms[n + turn] < 0.5
        pick_top(scores, uniforms[:n], tops[0])
        pick_top(rival_scores, uniforms[:n], tops[1])
        _draft(tops[0], tops[1], flags[:m], flags[m:], shown, team)


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
    rival_scores: cython.double[::1] = np.empty(scores.shape[0])
    scale_to_unit(direction)
    score_duel(features, weights, direction, step, scores, rival_scores)
    draft_by_score(scores, rival_scores, uniforms, shown, team)


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
