"""Two ranked lists mixed into one, and what the clicks on the mix say about the two.

Lists hold document indices, best first. The first list is that of the current ranker, the second its rival's.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairexp.kernels.compiling import kernel
from fairexp.kernels.linear import duel_scores, scale_to_unit, top_documents

NOBODY, CURRENT, RIVAL = 0, -1, 1


@kernel
def draft_teams(
    current: NDArray[np.int64], rival: NDArray[np.int64], rival_first: NDArray[np.bool_], n_documents: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Team-draft interleaving of the top m of two lists: the documents shown (m,) and the team of each (m,).

    What both lists share at the top belongs to nobody. After it both pick in turn; `rival_first` (m,) are the
    coins that say who begins each turn.
    """
    m = current.shape[0]
    shown = np.empty(m, dtype=np.int64)
    team = np.empty(m, dtype=np.int64)
    used = np.zeros(n_documents, dtype=np.bool_)
    at = 0
    while at < m and current[at] == rival[at]:
        shown[at] = current[at]
        team[at] = NOBODY
        used[current[at]] = True
        at += 1
    next_current, next_rival, turn = at, at, 0
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
    return shown, team


@kernel
def draft_by_score(
    scores: NDArray[np.float64], rival_scores: NDArray[np.float64], uniforms: NDArray[np.float64], m: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Documents shown (m,) and the team of each (m,), from both rankers' scores (n,).

    `uniforms` (n + m,) break ties, alike for both rankers, and then say who begins each turn.
    """
    n = scores.shape[0]
    keys = uniforms[:n]
    current, rival = top_documents(scores, keys, m), top_documents(rival_scores, keys, m)
    shown, team = draft_teams(current, rival, uniforms[n:] < 0.5, n)
    return shown, team.astype(np.float64)


@kernel
def draft_duel(
    features: NDArray[np.float64],
    weights: NDArray[np.float64],
    direction: NDArray[np.float64],
    step: float,
    uniforms: NDArray[np.float64],
    scores: NDArray[np.float64],
    shown: NDArray[np.int64],
    team: NDArray[np.float64],
) -> None:
    """A whole duel: fills `scores` (n,) of the current ranker, `shown` and `team` (m,); scales `direction` to length 1.

    One call with arrays to fill: handing an array from compiled code to Python costs more than making it there. A
    direction of 0 makes the rival the current ranker, and nobody wins.
    """
    scale_to_unit(direction)
    current_scores, rival_scores = duel_scores(features, weights, direction, step)
    scores[:] = current_scores
    shown[:], team[:] = draft_by_score(current_scores, rival_scores, uniforms, shown.shape[0])


@kernel
def draw_interleaved(
    current: NDArray[np.int64], rival: NDArray[np.int64], uniforms: NDArray[np.float64], power: float
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Probabilistic interleaving of two full lists (n,): documents shown (m,), chance that the rival placed each (m,).

    Either ranker places document d with a probability proportional to 1/rank(d)^power among the documents that are
    left; a fair coin says which of the two does. `uniforms` (m,) lie in [0, 1).
    """
    n, m = current.shape[0], uniforms.shape[0]
    by_current = np.empty(n)
    by_rival = np.empty(n)
    for rank in range(n):
        by_current[current[rank]] = (rank + 1.0) ** -power
        by_rival[rival[rank]] = (rank + 1.0) ** -power
    shown = np.empty(m, dtype=np.int64)
    chance = np.empty(m)
    for at in range(m):
        all_current, all_rival = by_current.sum(), by_rival.sum()
        target = uniforms[at] * 2.0
        reached, chosen = 0.0, -1
        for d in range(n):
            if by_current[d] == 0.0:
                continue
            chosen = d
            reached += by_current[d] / all_current + by_rival[d] / all_rival
            if reached > target:
                break
        from_rival = by_rival[chosen] / all_rival
        shown[at] = chosen
        chance[at] = from_rival / (from_rival + by_current[chosen] / all_current)
        by_current[chosen] = by_rival[chosen] = 0.0
    return shown, chance


@kernel
def expected_sign(chance: NDArray[np.float64]) -> float:
    """P(most clicked documents are the rival's) - P(most are the current ranker's), over all assignments.

    `chance` (c,) is the probability that the rival placed each clicked document. The rival's count is a sum of
    independent coins (Poisson-binomial); its distribution is built coin by coin.
    """
    c = chance.shape[0]
    count = np.zeros(c + 1)
    count[0] = 1.0
    for i in range(c):
        for k in range(i + 1, 0, -1):
            count[k] = count[k] * (1.0 - chance[i]) + count[k - 1] * chance[i]
        count[0] *= 1.0 - chance[i]
    sign = 0.0
    for k in range(c + 1):
        if 2 * k > c:
            sign += count[k]
        elif 2 * k < c:
            sign -= count[k]
    return sign
