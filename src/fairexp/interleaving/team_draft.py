"""Team draft: rankers pick in turn, and a click counts for whoever picked the document."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairexp.arrays import Bools, Floats, Ints
from fairexp.interleaving.mixed import Interleaved, check_scores
from fairexp.kernels.gradient.interleaving import draft


@dataclass(frozen=True, eq=False)
class TeamDraft(Interleaved):
    """A mix in which `team` (m,) is the ranker that picked each document, -1 where all agree; there are `n_rankers`."""

    team: Ints
    n_rankers: int

    def _credit(self, clicks: Bools) -> Floats:
        return clicks_by_team(self.team, clicks, self.n_rankers)


def team_draft(scores: Floats, *, length: int, rng: np.random.Generator) -> TeamDraft:
    """Mix the lists by `scores` (r, n): in each turn every ranker picks its best document left, in random order.

    What all lists share at the top is credited to nobody. Ties in scores are broken at random, alike for all rankers:
    rankers that agree give equal lists, and clicks on equal lists prefer nobody.

    >>> mixed = team_draft(np.array([[3.0, 2.0, 1.0], [3.0, 1.0, 2.0]]), length=3, rng=np.random.default_rng(0))
    >>> int(mixed.shown[0]), int(mixed.team[0]), sorted(mixed.team[1:].tolist())
    (0, -1, [0, 1])

    Radlinski, Kurup and Joachims, "How does clickthrough data reflect retrieval quality?", CIKM 2008; for more than two
    rankers Schuth, Sietsma, Whiteson, Lefortier and de Rijke, "Multileaved comparisons for fast online evaluation",
    CIKM 2014.
    """
    m, n_credited = check_scores(scores, length)
    shown, team = np.empty(m, dtype=np.int64), np.empty(m, dtype=np.int64)
    draft(scores, rng.random(scores.shape[1] + m), shown, team)
    return TeamDraft(shown, n_credited, team, len(scores))


def clicks_by_team(team: Ints, clicks: Bools | Ints, n_rankers: int) -> Floats:
    """The clicks (r,), or their worth, on documents that each ranker picked, given the `team` (m,) of each position.

    >>> clicks_by_team(np.array([-1, 1, 0, 1]), np.array([True, True, False, True]), 2)
    array([0., 2.])
    """
    return np.asarray(
        np.bincount(team + 1, weights=clicks.astype(np.float64), minlength=n_rankers + 1)[1:], dtype=np.float64
    )
