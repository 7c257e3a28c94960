"""Propensities against counts: of every list where it is exact, within what chance allows where it is estimated."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import numpy as np
import pytest

from fairexp import PDGD, FairCo, FairExp, PairRank, Query, RandomRanker
from fairexp.errors import ArgumentError
from fairexp.lab.offpolicy import next_propensity
from fairexp.randomness import make_rng
from fairexp.ranker import Ranker
from fairexp.rankers import FixedScores
from fairexp.rankers.probabilities import log_respecting, tie_classes

N, LENGTH, DRAWS = 5, 3, 20_000
RNG = np.random.default_rng(3)
QUERY = Query(features=RNG.normal(size=(N, 3)), groups=[0, 0, 1, 1, 1])


def taught(ranker: Ranker) -> Ranker:
    """A ranker that has seen enough to prefer some documents, and not enough to be sure of all."""
    for number in range(25):
        ranking = ranker.rank(QUERY)
        ranker.update(ranking, ranking.shown == number % 2)
    return ranker


RANKERS = {
    "random": lambda: RandomRanker(3, length=LENGTH, seed=1),
    "fixed": lambda: FixedScores([1.0, 0.0, 0.0], length=LENGTH, seed=1),
    "pdgd": lambda: taught(PDGD(3, length=LENGTH, learning_rate=0.3, seed=1)),
    "pairrank": lambda: taught(PairRank(3, length=LENGTH, alpha=0.6, seed=1)),
    "pairrank, paper": lambda: taught(PairRank(3, length=LENGTH, alpha=0.6, certainty="paper", seed=1)),
    "pairrank, random": lambda: taught(PairRank(3, length=LENGTH, alpha=0.4, within_block="random", seed=1)),
    "pairrank, score": lambda: taught(PairRank(3, length=LENGTH, within_block="score", seed=1)),
}


@pytest.mark.parametrize("name", RANKERS)
def test_the_probability_of_a_list_is_how_often_it_is_drawn(name: str) -> None:
    ranker, rng = RANKERS[name](), make_rng(9)
    counts = Counter(tuple(ranker.draw(QUERY, rng).tolist()) for _ in range(DRAWS))
    logs = {shown: ranker.log_probability(QUERY, np.array(shown)) for shown in permutations(range(N), LENGTH)}
    chances = {shown: np.exp(log) for shown, log in logs.items() if log is not None}
    assert len(chances) == len(logs) and sum(chances.values()) == pytest.approx(1.0)
    for shown, chance in chances.items():
        deviation = np.sqrt(chance * (1.0 - chance) / DRAWS)
        assert abs(counts[shown] / DRAWS - chance) <= 4.5 * deviation + 1e-12, shown


@pytest.mark.parametrize("name", RANKERS)
def test_a_draw_shows_what_a_ranking_with_the_same_random_numbers_would(name: str) -> None:
    ranker = RANKERS[name]()
    for _ in range(20):
        drawn = ranker.draw(QUERY, ranker.stream.at(ranker.n_ranked))
        assert drawn.tolist() == ranker.rank(QUERY).shown.tolist()


@pytest.mark.parametrize("pairs", ["averaged", "independent"])
@pytest.mark.parametrize("name", RANKERS)
def test_many_draws_are_as_many_rankings_with_the_same_random_numbers(name: str, pairs: str) -> None:
    ranker = RANKERS[name]()
    if isinstance(ranker, PairRank):
        ranker.pairs = pairs
    at_once, one_by_one = make_rng(4), make_rng(4)
    lists = ranker.draws(QUERY, at_once, 30)
    assert [each.tolist() for each in lists] == [ranker._rank(QUERY, one_by_one).shown.tolist() for _ in range(30)]
    assert at_once.random() == one_by_one.random()
    assert ranker.draws(QUERY, at_once, 0) == []


@pytest.mark.parametrize(
    "shown", [[0, 1, N], [0, 1, -1], [0, 1], [0.0, 1.0, 2.5], [0.0, 1.0, np.nan], ["0", "1", "2"]], ids=str
)
def test_only_a_list_of_the_querys_candidates_has_a_probability(shown: list[object]) -> None:
    with pytest.raises(ArgumentError, match="candidates, by number"):
        RANKERS["pdgd"]().log_probability(QUERY, shown)


def test_equal_scores_are_of_one_class_and_the_highest_comes_first() -> None:
    assert tie_classes(np.array([1.0, 3.0, 1.0, -0.0, 0.0, 3.0, -np.inf])).tolist() == [1, 0, 1, 2, 2, 0, 3]
    assert tie_classes(np.array([])).tolist() == []


def test_some_orders_were_certain_and_some_were_not() -> None:
    """Else the test above would not tell blocks with certain orders inside from a uniform draw."""
    ranker = RANKERS["pairrank"]()
    logs = [ranker.log_probability(QUERY, np.array(shown)) for shown in permutations(range(N), LENGTH)]
    chances = np.exp([log for log in logs if log is not None])
    assert (chances == 0.0).any() and len(np.unique(chances[chances > 0.0].round(9))) > 1


def test_positions_have_the_probabilities_of_their_lists() -> None:
    for name in ("random", "fixed"):
        ranker = RANKERS[name]()
        exact = ranker.position_probabilities(QUERY)
        summed = np.zeros((N, LENGTH))
        for shown in permutations(range(N), LENGTH):
            log = ranker.log_probability(QUERY, np.array(shown))
            assert log is not None
            summed[list(shown), range(LENGTH)] += np.exp(log)
        assert exact == pytest.approx(summed)


@pytest.mark.parametrize("name", ["pdgd", "pairrank"])
def test_estimates_are_around_the_truth(name: str) -> None:
    ranker, n_draws = RANKERS[name](), 4000
    truth = np.zeros((N, LENGTH))
    for shown in permutations(range(N), LENGTH):
        log = ranker.log_probability(QUERY, np.array(shown))
        assert log is not None
        truth[list(shown), range(LENGTH)] += np.exp(log)
    found = next_propensity(ranker, QUERY, n_draws=n_draws, rng=make_rng(5))
    shown = ranker.rank(QUERY).shown
    chances = truth[shown, range(LENGTH)]
    assert found.kind == "estimated"
    assert np.abs(found.positions - chances) == pytest.approx(0.0, abs=4.5 * 0.5 / np.sqrt(n_draws) + 1 / n_draws)


@pytest.mark.parametrize("name", ["random", "pdgd", "pairrank", "pairrank, random", "pairrank, score"])
def test_what_comes_next_has_the_probability_of_lists_that_begin_so(name: str) -> None:
    ranker = RANKERS[name]()
    every = np.array(list(permutations(range(N), LENGTH)))
    chances = np.exp([ranker.log_probability(QUERY, shown) for shown in every])
    possible = every[chances > 0.0]
    for shown in every[::7]:
        found = ranker.next_probabilities(QUERY, possible, shown)
        if name == "random":
            assert found is None
            continue
        for row, above in enumerate(possible):
            for position in range(LENGTH):
                begins = (every[:, :position] == above[:position]).all(axis=1)
                goes_on = begins & (every[:, position] == shown[position])
                assert found[row, position] == pytest.approx(chances[goes_on].sum() / chances[begins].sum(), abs=1e-9)


@pytest.mark.parametrize("name", ["pdgd", "pairrank", "fairexp"])
def test_asking_changes_nothing_and_speaks_of_what_is_shown_next(name: str) -> None:
    def make() -> Ranker:
        if name == "fairexp":
            return taught(FairExp(PairRank(3, length=LENGTH), tolerance=0.5, beta=1.0, seed=4))
        return RANKERS[name]()

    asked, other = make(), make()
    for _ in range(10):
        found = next_propensity(asked, QUERY, n_draws=8, rng=make_rng(2))
        mine, theirs = asked.rank(QUERY), other.rank(QUERY)
        assert mine.shown.tolist() == theirs.shown.tolist()
        if found.log_list is not None:
            log = other.log_probability(QUERY, theirs.shown)
            assert found.log_list == pytest.approx(log) and np.exp(found.log_list) > 0.0
        for ranker, ranking in ((asked, mine), (other, theirs)):
            ranker.update(ranking, [True, False, False])


def test_a_list_that_takes_no_random_numbers_is_certain_and_said_to_be_exact() -> None:
    class First(RandomRanker):
        def _rank(self, query, rng):  # type: ignore[no-untyped-def]
            return self._show(query, np.arange(self.length), np.zeros(query.n_candidates))

        def _log_probability(self, query, shown):  # type: ignore[no-untyped-def]
            return None

        def _position_probabilities(self, query):  # type: ignore[no-untyped-def]
            return None

    found = next_propensity(First(3, length=LENGTH, seed=0), QUERY, rng=make_rng(0))
    assert (found.kind, found.log_list, found.positions.tolist()) == ("exact", 0.0, [1.0, 1.0, 1.0])


def test_what_is_not_known_is_not_made_up() -> None:
    fair = FairCo(3, length=LENGTH, merit=[1.0, 1.0], seed=0)
    assert fair.log_probability(QUERY, [0, 1, 2]) is None and fair.position_probabilities(QUERY) is None
    with pytest.raises(ArgumentError, match="3 of the query's candidates"):
        fair.log_probability(QUERY, [0, 1])
    assert log_respecting(np.zeros((2, 2), dtype=bool), np.array([0, 1]), np.array([1, 0])) == -np.inf
