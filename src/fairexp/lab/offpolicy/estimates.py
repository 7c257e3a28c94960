"""The value of a target ranker on the log of another: clicks for each list, by four estimators with intervals.

A click on document d at position p counts with w = P(target shows d at p) / P(d was shown at p). That is unbiased where
whether d is clicked at p does not depend on what else is shown (the item-position model: position-based users), and
where everything that the target may show had some chance. Users who leave after a good document violate the first.
IPS and DR are unbiased then; SNIPS divides by the mean weight instead of 1, which is slightly biased and less noisy.

Weighing whole lists, all clicks of a list by w = P(target shows this list) / P(it was shown), is unbiased for every
user (cascade, dependent clicks, whatever), and far noisier: lists are many. It takes both probabilities in closed form.

Li, Abbasi-Yadkori, Kveton, Muthukrishnan, Vinay and Wen, "Offline evaluation of ranking policies with click models",
KDD 2018; Swaminathan and Joachims, NeurIPS 2015 (SNIPS); Dudik, Langford and Li, ICML 2011 (doubly robust).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from fairexp.arrays import Floats
from fairexp.errors import ArgumentError
from fairexp.lab.offpolicy.model import fitted_models
from fairexp.lab.offpolicy.propensity import drawn_positions
from fairexp.lab.offpolicy.record import BanditLog
from fairexp.randomness import Seed, make_rng
from fairexp.ranker import Ranker
from fairexp.statistics import Effect, effect
from fairexp.validation import check_count

MIN_ROUNDS = 10
"""An estimate that fewer effective rounds carry has no interval: it would cover the truth far too rarely."""

ROUNDING = 1e-9
"""A mean weight that is off by less than this is off by rounding."""

Progress = Callable[[int, int], object]
"""Called with how many contexts are done, and of how many."""


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """Estimates of the target's clicks for each list, the clicks `logged` for each, and how far the log carries.

    `mean_weight` is about 1 where the log covers what the target shows and its propensities are right; below 1, part of
    the target's value is out of the log's sight. `effective_rounds` is how many rounds of the target's own would tell
    as much (Kish), and `largest_weight` what a single click may count for.

    `ips`, `snips` and `dr` weigh positions: for users whose click depends on the document and its position. `lists`
    weighs whole lists: for all users. It is None where the log or the target does not know how probable a list is;
    `list_rounds` are its effective rounds.

    An estimate has an interval where at least `MIN_ROUNDS` effective rounds carry it, by their weights and by their
    weighted clicks, and where the 95% interval of its mean weight includes 1. Else what the log lacks is likely to
    matter more than what the interval measures.
    """

    ips: Effect
    snips: Effect
    dr: Effect
    logged: Effect
    mean_weight: float
    effective_rounds: float
    largest_weight: float
    lists: Effect | None = None
    list_rounds: float = 0.0


def evaluate(
    log: BanditLog, target: Ranker, *, n_draws: int = 200, seed: Seed = 0, on_progress: Progress | None = None
) -> Evaluation:
    """What `target`, as it stands, would earn on the contexts of `log`; it learns and charges nothing.

    Its probabilities are exact where it knows them, and else from `n_draws` lists for each context.

    >>> from fairexp.rankers import FixedScores
    >>> log = BanditLog(np.eye(2), np.array([0, 2]), np.zeros(4, int), np.arange(5), np.array([0, 1, 0, 1]),
    ...                 np.array([1.0, 0.0, 1.0, 0.0]), np.full(4, 0.5))
    >>> evaluate(log, FixedScores([1.0, 0.0], length=1)).ips.mean
    1.0
    """
    check_count("n_draws", n_draws)
    if target.n_features != log.features.shape[1]:
        given = f"{type(target).__name__} with {target.n_features} features"
        raise ArgumentError("target", given, f"a ranker of {log.features.shape[1]}, those of the log")
    chances = _chances(log, target, n_draws, seed, on_progress)
    weights = _weights(log, chances)
    models, parts = fitted_models(log)
    expected, residual = np.zeros(log.n_rounds), np.zeros(len(log.shown))
    for part, model in enumerate(models):
        values = model.predict(log.features)
        worth = np.add.reduceat((chances * values).sum(axis=1), log.starts[:-1])
        mine = parts == part
        expected[mine] = worth[log.context[mine]]
        entries = mine[log.rounds]
        residual[entries] = log.reward[entries] - values[log.rows[entries], log.positions[entries]]
    clicks, weighed = _by_round(log, log.reward), _by_round(log, weights * log.reward)
    total, wanted, whole = _by_round(log, weights), _wanted(log, chances), _list_weights(log, target)
    supported = _is_supported(total, wanted, weighed)
    return Evaluation(
        ips=_given(effect(weighed), supported),
        snips=_given(_self_normalised(log, weights), supported),
        dr=_given(effect(expected + _by_round(log, weights * residual)), supported),
        logged=effect(clicks),
        mean_weight=float(weights.sum() / max(wanted.sum(), 1e-300)),
        effective_rounds=_effective(total),
        largest_weight=float(weights.max()),
        lists=None if whole is None else _given(effect(whole * clicks), _is_supported(whole, 1.0, whole * clicks)),
        list_rounds=0.0 if whole is None else _effective(whole),
    )


def _is_supported(weights: Floats, wanted: Floats | float, weighed: Floats) -> bool:
    """Whether `weights` (T,), of which `wanted` (T,) are expected, and `weighed` clicks (T,) support an interval."""
    if min(_effective(weights), _effective(weighed)) < MIN_ROUNDS:
        return False
    off = effect(weights - wanted)
    return off.half_width is not None and abs(off.mean) <= off.half_width + ROUNDING


def _given(estimate: Effect, supported: bool) -> Effect:
    """`estimate`, without its interval where the log does not support one."""
    return estimate if supported else replace(estimate, low=None, high=None, p=None, error=None)


def _chances(log: BanditLog, target: Ranker, n_draws: int, seed: Seed, on_progress: Progress | None) -> Floats:
    """The probability (N, length) that the target shows each candidate at each position."""
    rng, chances = make_rng(seed), np.zeros((len(log.features), log.length))
    for context in range(len(log.starts) - 1):
        found = drawn_positions(target, log.query(context), n_draws=n_draws, rng=rng)[:, : log.length]
        chances[log.starts[context] : log.starts[context + 1], : found.shape[1]] = found
        if on_progress is not None:
            on_progress(context + 1, len(log.starts) - 1)
    return chances


def _weights(log: BanditLog, chances: Floats) -> Floats:
    return np.asarray(chances[log.rows, log.positions] / log.propensity)


def _list_weights(log: BanditLog, target: Ranker) -> Floats | None:
    """How much more probable each list (T,) is with the target than it was; None where that is not known of all."""
    if log.log_list is None or not np.isfinite(log.log_list).all():
        return None
    weights, known = np.empty(log.n_rounds), dict[tuple[int, bytes], float | None]()
    for number, context in enumerate(log.context.tolist()):
        shown = log.shown[log.offsets[number] : log.offsets[number + 1]]
        if len(shown) != min(target.length, int(log.starts[context + 1] - log.starts[context])):
            return None  # the target never shows a list of this length
        key = (context, shown.tobytes())
        if key not in known:
            known[key] = target.log_probability(log.query(context), shown)
        log_target = known[key]
        if log_target is None:
            return None
        weights[number] = np.exp(log_target - log.log_list[number])
    return weights


def _effective(weights: Floats) -> float:
    return float(weights.sum() ** 2 / max(np.square(weights).sum(), 1e-300))


def _by_round(log: BanditLog, values: Floats) -> Floats:
    return np.bincount(log.rounds, weights=values, minlength=log.n_rounds).astype(np.float64, copy=False)


def _wanted(log: BanditLog, chances: Floats) -> Floats:
    """What the weights of a round (T,) sum up to in expectation: positions shown that the target fills."""
    filled = np.add.reduceat(chances, log.starts[:-1], axis=0)
    return _by_round(log, filled[log.context[log.rounds], log.positions])


def _self_normalised(log: BanditLog, weights: Floats) -> Effect:
    """At each position the mean reward by weight, summed over positions; its error by the delta method."""
    positions, n = log.positions, log.n_rounds
    sums = np.bincount(positions, weights=weights, minlength=log.length)
    earned = np.bincount(positions, weights=weights * log.reward, minlength=log.length)
    present = np.bincount(positions, minlength=log.length)
    means = np.divide(earned, sums, out=np.zeros(log.length), where=sums > 0.0)
    scale = np.divide(present, sums, out=np.zeros(log.length), where=sums > 0.0)
    influence = _by_round(log, scale[positions] * weights * (log.reward - means[positions]))
    centred = influence - influence.mean()
    value = float((present / n) @ means)
    return effect(centred + value)
