"""Synthetic worlds with the shape of MSLR-WEB10K and Yahoo's challenge data, so that everything runs with no download.

A world has the published numbers of features and of documents per query, and the group sizes and mean grades of the
paper's Table 1. One more, "frequent", has few queries that come again and again, which rankers that learn of each query
by itself need. Each document has a few hidden qualities. The features are skewed, noisy views of them, scaled within
each query. Relevance is a mildly non-linear, noisy function of them: a linear ranker learns much of it, never all.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from fairexp.arrays import Bools, Floats, Ints
from fairexp.errors import ArgumentError
from fairexp.lab.data.dataset import BY_QUERY, Dataset, Values
from fairexp.lab.data.groups import by_cuts, named_rule
from fairexp.randomness import make_rng
from fairexp.validation import check_choice, check_count

N_QUALITIES = 8
_SAMPLE = 20_000
_ROWS = 1_024  # of features that are made at once, so that they stay in the cache
_REFERENCE = 40_000  # documents that fix the borders between grades
_PROXY = N_QUALITIES  # the hidden quality that goes with the group, after the others
_PARTS = ("train", "test")


@dataclass(frozen=True)
class World:
    """The figures of one world; `utilities` are the mean grades of groups A and B, `share` is A's part of all.

    `spread` is how much A's share varies between queries (the sum of a beta distribution's parameters; less is more
    varied). Documents per query are negative binomial around `n_documents`, with `dispersion` as its shape. `n_queries`
    is how many there are unless somebody asks for more or fewer.
    """

    name: str
    n_features: int
    attribute: str
    share: float
    utilities: tuple[float, float]
    grades: tuple[float, ...]
    n_documents: float
    dispersion: float
    spread: float
    query_effect: float
    noise: float
    n_queries: int = 300


_MSLR_GRADES = (0.52, 0.32, 0.13, 0.02, 0.01)
_YAHOO_GRADES = (0.26, 0.36, 0.28, 0.08, 0.02)
_EVEN_GRADES = (0.3, 0.25, 0.2, 0.15, 0.1)

WORLDS: dict[str, World] = {
    known.name: known
    for known in (
        World("mslr-pagerank", 136, "pagerank", 0.5057, (0.7302, 0.6093), _MSLR_GRADES, 120, 5.0, 4.0, 1.5, 1.2),
        World("mslr-inlink", 136, "inlinks", 0.6485, (0.6665, 0.6776), _MSLR_GRADES, 120, 5.0, 4.0, 1.5, 1.2),
        World("yahoo-9", 700, "feature-9", 0.4922, (1.2371, 0.5893), _YAHOO_GRADES, 24, 3.0, 4.0, 1.5, 1.2),
        World("yahoo-471", 700, "feature-471", 0.8575, (1.2384, 1.2239), _YAHOO_GRADES, 24, 3.0, 2.0, 1.5, 1.2),
        World("frequent", 46, "pagerank", 0.5, (1.6, 1.4), _EVEN_GRADES, 20, 200.0, 40.0, 0.3, 0.5, n_queries=10),
    )
}
"""Grade mixes are approximate; each group's is tilted so that its mean is the paper's."""


def world(name: str, *, n_queries: int | None = None, seed: int = 0, part: str = "train") -> Dataset:
    """A synthetic data set, with its groups; "train" and "test" are different queries of the same world.

    Names: mslr-pagerank, mslr-inlink (136 features, about 120 documents a query), yahoo-9, yahoo-471 (700 features,
    about 24), with 300 queries unless `n_queries` says otherwise; frequent (46 features, 10 queries of about 20
    documents). The group is read off the same feature by the same threshold as in the paper; that feature is hidden.

    >>> world("mslr-pagerank", n_queries=20, seed=1)
    Dataset('mslr-pagerank', 20 queries, 2273 documents, 136 features, 2 groups)
    """
    check_choice("name", name, tuple(WORLDS))
    check_choice("part", part, _PARTS)
    n_queries = check_count("n_queries", WORLDS[name].n_queries if n_queries is None else n_queries)
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ArgumentError("seed", repr(seed), "a whole number of at least 0")
    spec = WORLDS[name]
    truth, entropy = _truth(name, int(seed)), _entropy(name, int(seed))
    rng = make_rng(np.random.SeedSequence(entropy, spawn_key=(1 + _PARTS.index(part),)))
    sizes = _sizes(spec, n_queries, rng)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    in_a, qualities, utility = _documents(spec, truth.weights, sizes, rng)
    grades = truth.grades(utility, in_a)
    features = _features(truth, qualities, offsets, rng)
    rule = named_rule(spec.attribute, n_features=spec.n_features)
    feature = rule.feature or 0
    features[:, feature - 1] = _group_column(in_a, rule.thresholds[0], offsets, rng)
    data = Dataset(
        features=features,
        grades=grades,
        offsets=offsets,
        query_ids=tuple(f"{part}-{i}" for i in range(n_queries)),
        name=name,
        scaling=BY_QUERY,
    )
    groups = by_cuts(features[:, feature - 1], rule.thresholds)
    return replace(data, groups=groups, group_names=rule.names, blanked=(feature,))  # in few queries one may be empty


class _Truth:
    """What the parts of a world share: what makes a document good, and how the features show it."""

    def __init__(self, spec: World, rng: np.random.Generator) -> None:
        d = spec.n_features
        self.weights = rng.gamma(2.0, size=N_QUALITIES)
        self.weights /= np.linalg.norm(self.weights)
        self.loadings = np.zeros((N_QUALITIES + 1, d))
        main = rng.integers(0, N_QUALITIES + 1, size=d)
        other = rng.integers(0, N_QUALITIES + 1, size=d)
        self.loadings[main, np.arange(d)] = rng.uniform(0.5, 1.0, size=d)
        self.loadings[other, np.arange(d)] += rng.uniform(-0.3, 0.4, size=d)
        self.noise = rng.uniform(0.3, 1.5, size=d)
        kind = rng.uniform(size=d)
        self.loadings[:, kind < 0.15] = 0.0  # noise only
        self.skew = np.where(kind < 0.6, rng.uniform(0.5, 1.5, size=d), 0.0)
        self.floor = np.where(kind > 0.9, 2.3, np.where(kind > 0.75, 0.3, -np.inf))  # rarely or half the time above 0
        sample = np.full(_REFERENCE // 20, 20, dtype=np.int64)
        in_a, _, utility = _documents(spec, self.weights, sample, rng)
        self.borders = [
            _quantiles(utility[in_a == of_a], np.cumsum(_tilted(spec.grades, mean))[:-1])
            for of_a, mean in zip((True, False), spec.utilities, strict=True)
        ]

    def grades(self, utility: Floats, in_a: Bools) -> Ints:
        of_a, of_b = (np.searchsorted(borders, utility) for borders in self.borders)
        return np.where(in_a, of_a, of_b).astype(np.int64)


def _entropy(name: str, seed: int) -> list[int]:
    return [seed, zlib.crc32(name.encode())]


@lru_cache(maxsize=8)
def _truth(name: str, seed: int) -> _Truth:
    """The truth of a world, which its parts share."""
    return _Truth(WORLDS[name], make_rng(np.random.SeedSequence(_entropy(name, seed))))


def _tilted(grades: tuple[float, ...], mean: float) -> Floats:
    """The grade probabilities, tilted exponentially until the mean grade is `mean`."""
    levels, base = np.arange(len(grades)), np.array(grades, dtype=np.float64)
    low, high = -10.0, 10.0
    for _ in range(60):
        tilt = (low + high) / 2
        weights: Floats = base * np.exp(tilt * levels)
        probabilities: Floats = weights / weights.sum()
        low, high = (tilt, high) if probabilities @ levels < mean else (low, tilt)
    return probabilities


def _sizes(spec: World, n_queries: int, rng: np.random.Generator) -> Ints:
    rates = _evenly(rng.gamma(spec.dispersion, (spec.n_documents - 1) / spec.dispersion, size=_SAMPLE), n_queries, rng)
    return 1 + rng.poisson(rates)


def _evenly(sample: Floats, n: int, rng: np.random.Generator) -> Floats:
    """`n` values that cover the sample's distribution evenly, in random order.

    Plain draws would let the mean grade of a few hundred queries stray far from the world's.
    """
    return rng.permutation(_quantiles(sample, (np.arange(n) + 0.5) / n))


def _quantiles(sample: Floats, parts: Floats) -> Floats:
    """`np.quantile`, to the last bit, without the modules that it loads on its first call."""
    ordered, places = np.sort(sample), parts * (len(sample) - 1)
    below = np.floor(places).astype(np.int64)
    lower, upper, part = ordered[below], ordered[np.minimum(below + 1, len(sample) - 1)], places - below
    step = upper - lower
    return np.where(part < 0.5, lower + step * part, upper - step * (1.0 - part))


def _documents(
    spec: World, weights: Floats, sizes: Ints, rng: np.random.Generator
) -> tuple[Bools, NDArray[np.float32], Floats]:
    """Whether each document (N,) is in group A, its hidden qualities (N, Q + 1), and its utility (N,)."""
    n = int(sizes.sum())
    a, b = spec.share * spec.spread, (1 - spec.share) * spec.spread
    shares = _evenly(rng.beta(a, b, size=_SAMPLE), len(sizes), rng)
    effects = _evenly(rng.normal(0, spec.query_effect, size=_SAMPLE), len(sizes), rng)
    in_a = rng.uniform(size=n) < np.repeat(shares, sizes)
    qualities = rng.standard_normal((n, N_QUALITIES + 1), dtype=np.float32)
    qualities[:, _PROXY] += np.where(in_a, 1.0, -1.0)
    bent = 0.35 * qualities[:, 0] * qualities[:, 1] + 0.25 * (np.abs(qualities[:, 2]) - 0.8)
    from_query = np.repeat(effects, sizes) + rng.normal(0, spec.noise, size=n)
    return in_a, qualities, qualities[:, :N_QUALITIES] @ weights + bent + from_query


def _features(truth: _Truth, qualities: NDArray[np.float32], offsets: Ints, rng: np.random.Generator) -> Values:
    """Features (N, d): noisy views of the qualities, skewed or cut off at a floor, scaled within each query."""
    from fairexp.kernels.data.scaling import scale_queries

    features = rng.standard_normal((len(qualities), truth.loadings.shape[1]), dtype=np.float32)
    noise, loadings, floor = (each.astype(np.float32) for each in (truth.noise, truth.loadings, truth.floor))
    skewed = np.flatnonzero(truth.skew > 0)
    skew = truth.skew[skewed].astype(np.float32)
    for first in range(0, len(features), _ROWS):
        rows = features[first : first + _ROWS]
        rows *= noise
        rows += qualities[first : first + _ROWS] @ loadings
        rows[:, skewed] = np.exp(rows[:, skewed] * skew)
        np.maximum(rows, floor, out=rows)
    scale_queries(features, offsets)
    return features


def _group_column(in_a: Bools, threshold: float, offsets: Ints, rng: np.random.Generator) -> Values:
    """Values (N,) in [0, 1] above the threshold for group A only; a query's extremes are 0 and 1 where it has both."""
    n = len(in_a)
    above = threshold + (1 - threshold) * (0.02 + 0.98 * rng.beta(1.0, 2.5, size=n))
    below = threshold * 0.98 * rng.beta(1.0, 1.5, size=n)
    column = np.where(in_a, above, below)
    is_largest = in_a & (column == np.repeat(np.maximum.reduceat(column, offsets[:-1]), np.diff(offsets)))
    is_smallest = ~in_a & (column == np.repeat(np.minimum.reduceat(column, offsets[:-1]), np.diff(offsets)))
    column[is_largest], column[is_smallest] = 1.0, 0.0
    return column.astype(np.float32)
