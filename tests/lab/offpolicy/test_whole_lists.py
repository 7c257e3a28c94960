"""Weights of whole lists: right for every user, where weights of positions are right for position-based ones only."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from fairexp import PDGD, FairCo, RandomRanker
from fairexp.arrays import Floats
from fairexp.lab.data import Dataset
from fairexp.lab.exports.bandit import log_of_rounds
from fairexp.lab.offpolicy import BanditLog, Evaluation, evaluate, next_propensity
from fairexp.lab.simulation.loop import play
from fairexp.lab.users import Cascade, DependentClickModel, PositionBased, User
from fairexp.randomness import make_rng
from fairexp.ranker import Ranker
from fairexp.rankers import FixedScores

CLICK, STOP, EXAMINATION = np.array([0.2, 0.5, 0.9]), np.array([0.1, 0.5, 0.9]), np.array([1.0, 0.6, 0.3])
LENGTH, N_LOGS, ROUNDS = 3, 60, 300
BOUND = float(stats.t.ppf(1.0 - 0.0005, N_LOGS - 1))
"""Standard errors that the mean of so many logs is away from the truth once in 1,000 times."""
SIZES = [4, 5, 4]
FEATURES = np.random.default_rng(11).normal(size=(sum(SIZES), 2)).astype(np.float32)
GRADES = np.clip(np.round(1.0 + FEATURES[:, 0]), 0, 2).astype(np.int64)
WORLD = Dataset(FEATURES, GRADES, np.concatenate([[0], np.cumsum(SIZES)]), ("a", "b", "c"))
LEAVING = ("cascade", "dependent")


def a_user(name: str, seed: int) -> User:
    if name == "position":
        return PositionBased(EXAMINATION, CLICK, seed=seed)
    return Cascade(CLICK, seed=seed) if name == "cascade" else DependentClickModel(CLICK, STOP, seed=seed)


def expected_clicks(name: str, grades: Floats) -> float:
    """Of one list, from the definition of its user."""
    if name == "position":
        return float(EXAMINATION @ CLICK[grades])
    leaves = CLICK[grades] if name == "cascade" else (CLICK * STOP)[grades]
    reads = np.concatenate([[1.0], np.cumprod(1.0 - leaves)[:-1]])
    return float(reads @ CLICK[grades])


def true_value(target: Ranker, name: str) -> float:
    """Exact: every list of every query with its probability."""
    total = 0.0
    for number in range(WORLD.n_queries):
        query, grades = WORLD.query(number), WORLD.relevance(number)
        for shown in permutations(range(query.n_candidates), LENGTH):
            log = target.log_probability(query, shown)
            assert log is not None
            total += np.exp(log) * expected_clicks(name, grades[list(shown)])
    return total / WORLD.n_queries


def a_log(logger: Ranker, name: str, seed: int) -> BanditLog:
    asked = partial(next_propensity, n_draws=12, rng=make_rng(1000 + seed))
    rounds = play(logger, WORLD, a_user(name, seed), rounds=ROUNDS, rng=make_rng(seed), propensity=asked)
    return log_of_rounds(WORLD, rounds)


@cache
def logs(user: str, logger: str) -> list[BanditLog]:
    made = RandomRanker if logger == "random" else partial(PDGD, learning_rate=0.05)
    return [a_log(made(2, length=LENGTH, seed=seed), user, seed) for seed in range(N_LOGS)]


def estimates(user: str, logger: str, target: Ranker) -> list[Evaluation]:
    return [evaluate(log, target, n_draws=50, seed=number) for number, log in enumerate(logs(user, logger))]


def distance(values: list[float], truth: float) -> float:
    """How many standard errors the mean is from the truth."""
    return float(abs(np.mean(values) - truth) / (np.std(values, ddof=1) / np.sqrt(len(values))))


@pytest.mark.parametrize("user", ["position", *LEAVING])
@pytest.mark.parametrize("logger", ["random", "pdgd"])
def test_whole_lists_are_unbiased_for_every_user_and_positions_for_one(user: str, logger: str) -> None:
    target = FixedScores([1.0, 0.2], length=LENGTH, seed=0)
    truth, found = true_value(target, user), estimates(user, logger, target)
    lists = [each.lists for each in found]
    assert all(each is not None for each in lists)
    assert distance([each.mean for each in lists if each is not None], truth) < BOUND
    by_position = distance([each.ips.mean for each in found], truth)
    assert by_position > BOUND if user in LEAVING else by_position < BOUND


def test_wrong_probabilities_of_lists_are_found_out() -> None:
    """The test above can fail."""
    target = FixedScores([1.0, 0.2], length=LENGTH, seed=0)
    found = [evaluate(replace(log, log_list=0.8 * log.log_list), target).lists for log in logs("cascade", "random")]
    assert distance([each.mean for each in found if each is not None], true_value(target, "cascade")) > BOUND


def test_a_ranker_on_its_own_log_earns_what_was_logged() -> None:
    found = evaluate(
        a_log(RandomRanker(2, length=LENGTH, seed=3), "cascade", 3), RandomRanker(2, length=LENGTH, seed=9)
    )
    assert found.lists is not None and found.lists.mean == pytest.approx(found.logged.mean)
    assert found.list_rounds == pytest.approx(ROUNDS)


def test_what_is_not_known_is_not_made_up() -> None:
    log = a_log(RandomRanker(2, length=LENGTH, seed=3), "cascade", 3)
    fair = replace(log, groups=np.arange(len(log.features)) % 2)
    assert evaluate(fair, FairCo(2, length=LENGTH, merit=[1.0, 1.0], seed=0), n_draws=5).lists is None
    assert evaluate(log, RandomRanker(2, length=2)).lists is None
    assert evaluate(replace(log, log_list=None), RandomRanker(2, length=LENGTH)).lists is None


FEW_CARRY = (FixedScores([-1.0, 0.2], length=LENGTH, seed=0), 0.5)
MANY_CARRY = (FixedScores([1.0, 0.2], length=LENGTH, seed=0), 1.0)
LACKING = (PDGD(2, length=LENGTH, seed=0), 1.0)


@pytest.mark.parametrize("case", [FEW_CARRY, MANY_CARRY, LACKING], ids=["few carry", "many carry", "log lacks some"])
def test_an_interval_that_is_given_covers_the_truth(case: tuple[Ranker, float]) -> None:
    """Of targets that the log rarely shows the intervals would cover a third of the time: they have none."""
    target, learning_rate = case
    truth, given, missed = true_value(target, "cascade"), 0, 0
    for seed in range(N_LOGS // 2):
        logger = PDGD(2, length=LENGTH, learning_rate=learning_rate, seed=seed)
        found = evaluate(a_log(logger, "cascade", seed), target, n_draws=5, seed=seed).lists
        assert found is not None and (found.low is None) == (found.high is None) == (found.p is None)
        if found.low is not None and found.high is not None:
            given += 1
            missed += not found.low <= truth <= found.high
    assert missed <= stats.binom.isf(1e-3, max(given, 1), 0.05)
    if case is MANY_CARRY:
        assert given >= N_LOGS / 4  # the rule is not met by giving none
    if case is FEW_CARRY:
        assert given <= N_LOGS / 8


def test_weights_that_are_off_take_the_interval_away() -> None:
    log = a_log(RandomRanker(2, length=LENGTH, seed=3), "cascade", 3)
    target = RandomRanker(2, length=LENGTH, seed=9)
    assert evaluate(log, target).lists.low is not None  # type: ignore[union-attr]
    found = evaluate(replace(log, log_list=log.log_list - 0.1, propensity=0.9 * log.propensity), target)
    assert found.list_rounds == pytest.approx(ROUNDS) == found.effective_rounds
    assert found.lists is not None and found.lists.mean > 0.0
    assert [each.low for each in (found.lists, found.ips, found.snips, found.dr)] == [None] * 4
    assert found.logged.low is not None


def test_a_log_without_a_click_on_what_the_target_shows_gives_no_interval() -> None:
    """No spread is no certainty: where clicks are rare, none among a few hundred rounds is likely."""
    log = a_log(RandomRanker(2, length=LENGTH, seed=3), "cascade", 3)
    found = evaluate(replace(log, reward=np.zeros(len(log.reward))), RandomRanker(2, length=LENGTH, seed=9))
    assert found.list_rounds == pytest.approx(ROUNDS)
    assert found.lists is not None and (found.lists.mean, found.lists.low, found.ips.low) == (0.0, None, None)
