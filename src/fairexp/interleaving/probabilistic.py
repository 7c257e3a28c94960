"""Probabilistic interleaving: every ranker could have placed every document, and credit goes by how likely it did."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairexp.arrays import Bools, Floats
from fairexp.interleaving.mixed import ROUNDING, Interleaved, check_scores
from fairexp.kernels.gradient.interleaving import draw, expected_signs

RANK_POWER = 3.0
"""A ranker draws a document with a probability proportional to 1/rank^3."""


@dataclass(frozen=True, eq=False)
class Probabilistic(Interleaved):
    """A mix with the `chances` (m, r) that each ranker would have placed each document, had it been its turn."""

    chances: Floats

    def _credit(self, clicks: Bools) -> Floats:
        """The number of clicks that each ranker can expect to have earned, over who placed what."""
        clicked = self.chances[clicks]
        shares: Floats = clicked / clicked.sum(axis=1, keepdims=True)
        return np.asarray(shares.sum(axis=0))

    def _preferences(self, clicks: Bools) -> Floats:
        columns = [marginal_preferences(self.chances, clicks, base) for base in range(self.chances.shape[1])]
        return np.stack(columns, axis=1)


def probabilistic(scores: Floats, *, length: int, rng: np.random.Generator) -> Probabilistic:
    """Mix the lists by `scores` (r, n): a lot says at each position which ranker draws among the documents left.

    >>> mixed = probabilistic(np.zeros((2, 3)), length=2, rng=np.random.default_rng(0))
    >>> mixed.credit([True, False])
    array([0.5, 0.5])

    Hofmann, Whiteson and de Rijke, "A probabilistic method for inferring preferences from clicks", CIKM 2011; for more
    than two rankers Schuth and others, "Probabilistic multileave for online retrieval evaluation", SIGIR 2015. Both
    sample who placed what; here the sum over all assignments is exact.
    """
    m, n_credited = check_scores(scores, length)
    n = scores.shape[1]
    shown, chances, uniforms = np.empty(m, dtype=np.int64), np.empty((m, len(scores))), rng.random(n + m)
    draw(scores, uniforms[:n], uniforms[n:], RANK_POWER, shown, chances)
    return Probabilistic(shown, n_credited, chances)


def marginal_preferences(chances: Floats, clicks: Bools, base: int) -> Floats:
    """The expected sign (r,) of each ranker's clicks minus those of ranker `base`, exactly, over who placed what.

    >>> chances = np.array([[0.1, 0.9], [0.8, 0.2], [0.4, 0.6]])
    >>> marginal_preferences(chances, np.array([True, False, True]), base=0).round(12)
    array([0. , 0.5])
    """
    signs = expected_signs(chances[clicks], base)
    signs[np.abs(signs) <= ROUNDING] = 0.0
    return signs
