"""The synthetic worlds: the paper's table, a task that can be learned, seeds."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from fairexp.errors import ArgumentError
from fairexp.kernels.data.scaling import scale_queries
from fairexp.lab.data import WORLDS, Dataset, group_table, world
from fairexp.lab.data.groups import named_rule
from fairexp.lab.data.synthetic import _quantiles, _tilted

# The paper's Table 1: size of group A, mean grade of A and of B.
TABLE = {
    "mslr-pagerank": (0.5057, 0.7302, 0.6093),
    "mslr-inlink": (0.6485, 0.6665, 0.6776),
    "yahoo-9": (0.4922, 1.2371, 0.5893),
    "yahoo-471": (0.8575, 1.2384, 1.2239),
}


@cache
def whole(name: str) -> Dataset:
    """The world as it is by default; nothing here changes it."""
    return world(name)


def ndcg(scores: np.ndarray, grades: np.ndarray) -> float:
    discounts = 1 / np.log2(np.arange(min(10, len(grades))) + 2)
    gains = 2.0**grades - 1
    return float(gains[np.argsort(-scores)[:10]] @ discounts / (np.sort(gains)[::-1][:10] @ discounts))


def linear_fit(data: Dataset) -> np.ndarray:
    """Ridge regression of grades on features, both centred within queries."""
    queries = range(data.n_queries)
    features = np.vstack([(x := data.query(i).features) - x.mean(axis=0) for i in queries])
    grades = np.concatenate([(y := data.relevance(i)) - y.mean() for i in queries])
    return np.linalg.solve(features.T @ features + 10 * np.eye(data.n_features), features.T @ grades)


@pytest.mark.parametrize("name", list(TABLE))
def test_group_sizes_and_utilities_are_the_papers(name: str) -> None:
    # Averaged over seeds, because documents of a query go together and one world is a small sample.
    tables = [group_table(world(name, n_queries=400, seed=seed)) for seed in range(4)]
    share, of_a, of_b = TABLE[name]
    assert np.mean([a.share for a, _ in tables]) == pytest.approx(share, abs=0.02)
    assert np.mean([a.average_utility for a, _ in tables]) == pytest.approx(of_a, abs=0.04)
    assert np.mean([b.average_utility for _, b in tables]) == pytest.approx(of_b, abs=0.06 if share > 0.8 else 0.04)


@pytest.mark.parametrize("name", list(TABLE))
def test_a_linear_ranker_learns_much_but_not_all(name: str) -> None:
    train, test = whole(name), world(name, part="test").without_irrelevant()
    weights, rng = linear_fit(train), np.random.default_rng(0)
    queries = range(test.n_queries)
    learned = np.mean([ndcg(test.query(i).features @ weights, test.relevance(i)) for i in queries])
    random = np.mean([ndcg(rng.uniform(size=len(test.relevance(i))), test.relevance(i)) for i in queries])
    assert learned > random + 0.2
    assert learned < 0.85
    if name.startswith("mslr"):
        assert 0.15 < random < 0.35
        assert 0.5 < learned < 0.65


@pytest.mark.parametrize("name", list(TABLE))
def test_the_shape_of_a_world(name: str) -> None:
    data, spec = whole(name), WORLDS[name]
    sizes = np.diff(data.offsets)
    assert data.n_features == spec.n_features
    assert sizes.mean() == pytest.approx(spec.n_documents, rel=0.1)
    assert sizes.max() > 2 * sizes.mean()
    assert sizes.min() < 0.3 * sizes.mean()
    assert data.max_grade == 4
    assert (data.features.min(), data.features.max()) == (0, 1)
    again = data.features.copy()
    scale_queries(again, data.offsets)
    both = [len(np.unique(data.groups[data.rows(i)])) == 2 for i in range(data.n_queries)]
    assert np.allclose(
        np.delete(again, data.blanked[0] - 1, axis=1), np.delete(data.features, data.blanked[0] - 1, axis=1)
    )
    for i in np.flatnonzero(both)[:50]:
        assert np.allclose(again[data.rows(i)], data.features[data.rows(i)])


@pytest.mark.parametrize("name", list(TABLE))
def test_the_groups_are_those_of_the_papers_rule(name: str) -> None:
    data = whole(name)
    rule = named_rule(WORLDS[name].attribute, n_features=data.n_features)
    grouped = rule.apply(data)
    assert np.array_equal(grouped.groups, data.groups)
    assert (grouped.blanked, grouped.group_names) == (data.blanked, data.group_names)
    assert data.query(0).features[:, data.blanked[0] - 1].max() == 0


def test_group_shares_vary_between_queries_most_in_yahoo_471() -> None:
    lacking = {}
    for name in TABLE:
        data = whole(name)
        lacking[name] = np.mean([len(np.unique(data.groups[data.rows(i)])) < 2 for i in range(data.n_queries)])
    assert lacking["mslr-pagerank"] < 0.02
    assert 0.2 < lacking["yahoo-471"] < 0.7
    assert lacking["yahoo-471"] == max(lacking.values())


def test_seeds_and_parts() -> None:
    one = world("mslr-pagerank", n_queries=15, seed=3)
    same = world("mslr-pagerank", n_queries=15, seed=3)
    other = world("mslr-pagerank", n_queries=15, seed=4)
    test = world("mslr-pagerank", n_queries=15, seed=3, part="test")
    assert np.array_equal(one.features, same.features)
    assert np.array_equal(one.grades, same.grades)
    assert not np.array_equal(one.offsets, other.offsets)
    assert not np.array_equal(one.offsets, test.offsets)
    assert set(one.query_ids).isdisjoint(test.query_ids)


def test_one_query_is_enough() -> None:
    for seed in range(5):
        assert world("yahoo-471", n_queries=1, seed=seed).n_groups == 2


def test_tilting_meets_the_mean_and_stays_a_distribution() -> None:
    for mean in (0.2, 0.61, 1.9, 3.5):
        tilted = _tilted((0.52, 0.32, 0.13, 0.02, 0.01), mean)
        assert tilted.sum() == pytest.approx(1)
        assert tilted @ np.arange(5) == pytest.approx(mean)


def test_bad_arguments() -> None:
    with pytest.raises(ArgumentError, match="name: expected one of 'mslr-pagerank'"):
        world("mslr")
    with pytest.raises(ArgumentError, match="part"):
        world("yahoo-9", part="vali")
    with pytest.raises(ArgumentError, match="n_queries"):
        world("yahoo-9", n_queries=0)
    for seed in (-1, 0.5, True):
        with pytest.raises(ArgumentError, match="seed"):
            world("yahoo-9", seed=seed)  # type: ignore[arg-type]


@pytest.mark.parametrize("n", [1, 2, 7, 1000])
def test_quantiles_are_those_of_numpy_to_the_last_bit(n: int) -> None:
    rng = np.random.default_rng(n)
    sample, parts = rng.standard_normal(n), np.concatenate([[0.0, 0.5, 1.0], rng.random(50)])
    assert np.array_equal(_quantiles(sample, parts), np.quantile(sample, parts))
