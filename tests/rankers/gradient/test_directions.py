"""Where DP-DBGD and MP-DGD go on average, and how far they get without noise."""

from __future__ import annotations

import numpy as np
import pytest

from fairexp.rankers.gradient.dbgd import DBGD
from fairexp.rankers.gradient.dual_point import DPDBGD
from fairexp.rankers.gradient.multi_point import MPDGD
from fairexp.types import Query
from tests.rankers.simulation import ndcg, small_world

N_MOVES = 6000
N_FEATURES = 4


def mean_move(cls, already):
    """The mean (d,) of one move from weights of `already` along the second axis, and its error.

    Documents are even in all directions and users click the best one shown. So nothing but the truth, the first axis,
    and the weights set one direction apart from another.
    """
    rng = np.random.default_rng(7)
    moves = np.empty((N_MOVES, N_FEATURES))
    start = already * np.eye(N_FEATURES)[1]
    ranker = cls(N_FEATURES, length=4, learning_rate=1.0, seed=1)
    for number in range(N_MOVES):
        ranker.weights = start
        ranking = ranker.rank(Query(features=rng.standard_normal((8, N_FEATURES))))
        ranker.update(ranking, np.arange(4) == np.argmax(ranking.features[:, 0]))
        moves[number] = ranker.weights - start
    return moves.mean(axis=0), moves.std(axis=0) / np.sqrt(N_MOVES)


@pytest.mark.parametrize("already", [0.0, 0.5])
def test_a_dual_point_goes_the_way_of_dbgd_on_average_and_further(already):
    """By symmetry both means lie in the plane of truth and weights: the other axes have 0 within four errors."""
    (one, one_error), (dual, dual_error) = (mean_move(cls, already) for cls in (DBGD, DPDBGD))
    for mean, error in ((one, one_error), (dual, dual_error)):
        assert mean[0] > 6.0 * error[0]
        even = slice(2 if already else 1, None)
        assert (np.abs(mean[even]) <= 4.0 * error[even]).all()
    assert dual[0] - one[0] > 4.0 * np.hypot(one_error[0], dual_error[0])


def test_axes_go_the_way_of_the_truth_on_average():
    mean, error = mean_move(MPDGD, 0.0)
    assert mean[0] > 6.0 * error[0] and (np.abs(mean[1:]) <= 4.0 * error[1:]).all()


@pytest.mark.parametrize("seed", [2, 3, 4])
@pytest.mark.parametrize("cls", [DPDBGD, MPDGD])
def test_without_noise_the_optimum_is_reached(cls, seed):
    """Users click what is relevant and nothing else; scores are linear, so that the best ranking can be learned."""
    features, grades = small_world(seed=seed, n_features=5)
    ranker, rng = cls(5, learning_rate=0.02, decay=0.9995, seed=3), np.random.default_rng(4)
    for _ in range(6000):
        q = rng.integers(len(features))
        ranking = ranker.rank(Query(features=features[q]))
        ranker.update(ranking, grades[q][ranking.shown] >= 1)
    ordered = [np.argsort(-ranker.score(x), kind="stable") for x in features]
    reached = np.nanmean([ndcg(g[order], g) for g, order in zip(grades, ordered, strict=True)])
    assert reached >= 0.995
