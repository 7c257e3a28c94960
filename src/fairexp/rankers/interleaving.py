"""Interleaving: one list from two rankers, so that its clicks say which of the two is better.

Ties in scores are broken at random, in the same way for both rankers: rankers that agree then give equal lists,
and clicks on equal lists prefer neither.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairexp.arrays import Bools, Floats, Ints
from fairexp.errors import ArgumentError
from fairexp.kernels.learning.interleaving import draft_by_score, draw_interleaved, expected_sign
from fairexp.validation import check_count

RANK_POWER = 3.0
"""Probabilistic interleaving draws a document with probability proportional to 1/rank^3."""

ROUNDING = 1e-12
"""Preferences closer to 0 than this are ties that floating point did not hit exactly."""


class Interleaved(NamedTuple):
    """Documents shown (m,) from the top down, and the `credit` (m,) that a click on each would give."""

    shown: Ints
    credit: Floats


def team_draft(scores: Floats, rival_scores: Floats, *, length: int, rng: np.random.Generator) -> Interleaved:
    """Interleave two rankers' scores (n,) by team draft; credit is +1 for the rival's picks, -1 for the current's.

    Both rankers pick their best document that is left, in a random order in each turn. What the two lists share at
    the top is credited to nobody (0).

    >>> shown, credit = team_draft(
    ...     np.array([3.0, 2.0, 1.0]), np.array([3.0, 1.0, 2.0]), length=3, rng=np.random.default_rng(0)
    ... )
    >>> int(shown[0]), float(credit[0]), sorted(credit[1:].tolist())
    (0, 0.0, [-1.0, 1.0])

    Radlinski, Kurup and Joachims, "How does clickthrough data reflect retrieval quality?", CIKM 2008.
    """
    n = _check_lists(scores, rival_scores, length)
    m = min(length, n)
    drafted = Interleaved(np.empty(m, dtype=np.int64), np.empty(m))
    draft_by_score(scores, rival_scores, rng.random(n + m), *drafted)
    return drafted


def team_draft_preference(credit: Floats, clicks: Bools | Ints) -> float:
    """Clicks, or what they are worth, on the rival's picks minus the current ranker's; above 0 the rival wins.

    >>> team_draft_preference(np.array([0.0, 1.0, -1.0]), np.array([True, True, False]))
    1.0
    """
    return float(credit @ clicks)


def probabilistic(scores: Floats, rival_scores: Floats, *, length: int, rng: np.random.Generator) -> Interleaved:
    """Interleave two rankers' scores (n,) by chance; credit is the probability that the rival placed the document.

    Each position goes to one of the two by a fair coin, which draws among the documents that are left with a
    probability proportional to 1/rank^3.

    >>> shown, credit = probabilistic(np.zeros(3), np.zeros(3), length=2, rng=np.random.default_rng(0))
    >>> credit
    array([0.5, 0.5])

    Hofmann, Whiteson and de Rijke, "A probabilistic method for inferring preferences from clicks", CIKM 2011.
    """
    n = _check_lists(scores, rival_scores, length)
    shuffled = rng.permutation(n)
    current = shuffled[np.argsort(-scores[shuffled], kind="stable")]
    rival = shuffled[np.argsort(-rival_scores[shuffled], kind="stable")]
    shown, chance = draw_interleaved(current, rival, rng.random(min(length, n)), RANK_POWER)
    return Interleaved(shown, chance)


def probabilistic_preference(credit: Floats, clicks: Bools) -> float:
    """The expected sign of (rival's clicks - current ranker's clicks), exactly, over who placed what.

    >>> round(probabilistic_preference(np.array([0.9, 0.2, 0.6]), np.array([True, False, True])), 12)
    0.5
    """
    sign = float(expected_sign(credit[clicks]))
    return sign if abs(sign) > ROUNDING else 0.0


def _check_lists(scores: Floats, rival_scores: Floats, length: int) -> int:
    check_count("length", length)
    if scores.ndim != 1 or scores.shape != rival_scores.shape:
        raise ArgumentError(
            "rival_scores", f"shape {rival_scores.shape}", f"one per document, like scores with shape {scores.shape}"
        )
    return len(scores)
