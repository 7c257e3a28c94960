"""Off-policy estimates against the truth: their mean over many simulated logs lies within its standard error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy import stats

from fairexp import PDGD, PairRank, RandomRanker
from fairexp.arrays import Floats
from fairexp.errors import ArgumentError
from fairexp.lab.data import Dataset
from fairexp.lab.exports.bandit import log_of_rounds
from fairexp.lab.offpolicy import BanditLog, evaluate, next_propensity
from fairexp.lab.offpolicy.propensity import drawn_positions
from fairexp.lab.simulation.loop import play
from fairexp.lab.users import PositionBased
from fairexp.randomness import make_rng
from fairexp.ranker import Ranker
from fairexp.rankers import FixedScores

EXAMINATION, ATTRACTION = np.array([1.0, 0.6, 0.3]), np.array([0.1, 0.4, 0.9])
LENGTH, N_LOGS, ROUNDS = 3, 60, 80


def world() -> Dataset:
    rng = np.random.default_rng(11)
    sizes = [5, 6, 4, 7]
    features = rng.normal(size=(sum(sizes), 2)).astype(np.float32)
    grades = np.clip(np.round(1.0 + features[:, 0]), 0, 2).astype(np.int64)
    return Dataset(features, grades, np.concatenate([[0], np.cumsum(sizes)]), ("a", "b", "c", "d"))


WORLD = world()
TARGETS: dict[str, Callable[[], Ranker]] = {
    "a deterministic target": lambda: FixedScores([1.0, 0.2], length=LENGTH, seed=0),
    "a stochastic target": lambda: PDGD(2, length=LENGTH, seed=0),
}
LOGGERS: dict[str, Callable[[int], Ranker]] = {
    "random, exact": lambda seed: RandomRanker(2, length=LENGTH, seed=seed),
    "pdgd, learning, estimated": lambda seed: PDGD(2, length=LENGTH, learning_rate=0.2, seed=seed),
    "pairrank, learning, estimated": lambda seed: PairRank(2, length=LENGTH, alpha=3.0, seed=seed),
}


def a_log(logger: Ranker, seed: int) -> BanditLog:
    user = PositionBased(EXAMINATION, ATTRACTION, seed=seed)
    asked = partial(next_propensity, n_draws=12, rng=make_rng(1000 + seed))
    rounds = play(logger, WORLD, user, rounds=ROUNDS, rng=make_rng(seed), propensity=asked)
    return log_of_rounds(WORLD, rounds)


def true_value(target: Ranker) -> float:
    """Clicks for each list, every query being as probable: from the click model itself."""
    values = []
    for number in range(WORLD.n_queries):
        chances = drawn_positions(target, WORLD.query(number), n_draws=20_000, rng=make_rng(1))
        values.append(ATTRACTION[WORLD.relevance(number)] @ chances @ EXAMINATION)
    return float(np.mean(values))


@pytest.fixture(scope="module", params=LOGGERS)
def logs(request: pytest.FixtureRequest) -> list[BanditLog]:
    return [a_log(LOGGERS[request.param](seed), seed) for seed in range(N_LOGS)]


def distance(values: Floats, truth: float) -> float:
    """How many standard errors the mean is from the truth."""
    return float(abs(values.mean() - truth) / (values.std(ddof=1) / np.sqrt(len(values))))


@pytest.mark.parametrize("name", TARGETS)
def test_ips_and_dr_are_unbiased_and_their_intervals_cover(logs: list[BanditLog], name: str) -> None:
    target = TARGETS[name]()
    truth = true_value(target)
    found = [evaluate(log, target, n_draws=100, seed=number) for number, log in enumerate(logs)]
    for estimator in ("ips", "dr"):
        effects = [getattr(each, estimator) for each in found]
        assert distance(np.array([each.mean for each in effects]), truth) < 3.0
        given = [each for each in effects if each.low is not None]
        missed = sum(not each.low <= truth <= each.high for each in given)
        assert len(given) >= 0.7 * N_LOGS and missed <= stats.binom.isf(1e-3, len(given), 0.05)
    means = {name: np.mean([getattr(each, name).mean for each in found]) for name in ("ips", "snips", "dr")}
    spreads = {name: np.std([getattr(each, name).mean for each in found]) for name in ("ips", "snips", "dr")}
    assert means["snips"] == pytest.approx(truth, abs=0.1 * truth)
    if name == "a deterministic target":  # weights of 7 to 9; for the other they are about 1, and all three are alike
        assert max(spreads["snips"], spreads["dr"]) < spreads["ips"]
    assert np.mean([each.mean_weight for each in found]) == pytest.approx(1.0, abs=0.05)


def test_wrong_propensities_are_found_out(logs: list[BanditLog]) -> None:
    """The test above can fail: with propensities that are off, the mean is many standard errors away."""
    target = TARGETS["a deterministic target"]()
    truth = true_value(target)
    wrong = [replace(log, propensity=np.sqrt(log.propensity)) for log in logs]
    found = [evaluate(log, target) for log in wrong]
    assert distance(np.array([each.ips.mean for each in found]), truth) > 10.0
    assert np.mean([each.mean_weight for each in found]) < 0.8


def test_a_ranker_on_its_own_log_earns_what_was_logged() -> None:
    log = a_log(RandomRanker(2, length=LENGTH, seed=3), 3)
    found = evaluate(log, RandomRanker(2, length=LENGTH, seed=9))
    assert found.ips.mean == pytest.approx(found.logged.mean) == found.snips.mean
    assert found.effective_rounds == pytest.approx(ROUNDS) and found.largest_weight == 1.0


def test_refusals() -> None:
    log = a_log(RandomRanker(2, length=LENGTH, seed=3), 3)
    with pytest.raises(ArgumentError, match="those of the log"):
        evaluate(log, RandomRanker(3, length=LENGTH))
    with pytest.raises(ArgumentError, match="above 0"):
        replace(log, propensity=np.zeros(len(log.shown)))
    with pytest.raises(ArgumentError, match="propensity="):
        log_of_rounds(
            WORLD, play(RandomRanker(2), WORLD, PositionBased([1.0] * 10, [0.1] * 3), rounds=2, rng=make_rng(0))
        )
