"""Features go by their names: in files and from them, in parts of a data set, and where held-out data meet training."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import csv

from fairexp import FairExp, PairRank, Prior
from fairexp.errors import ArgumentError
from fairexp.lab.data import Dataset, contents, from_table, open_data, read_letor, read_table, world
from fairexp.lab.simulation import simulate
from fairexp.lab.simulation.run import run
from fairexp.lab.simulation.settings import DataSettings, RunSettings
from fairexp.lab.users import load_user
from fairexp.measures import HELDOUT_NDCG

NAMES = ("price", "age", "fit", "noise")


def table_of(seed: int, names: tuple[str, ...] = NAMES) -> pa.Table:
    """Documents of 20 queries whose grade is what `fit` says; `age` says the opposite."""
    rng = np.random.default_rng(seed)
    n = 200
    grade = rng.integers(0, 4, n)
    values = {"price": rng.random(n), "age": -grade + 0.1 * rng.random(n), "fit": 1.0 * grade, "noise": rng.random(n)}
    columns = {name: values.get(name, values["noise"]) for name in names}
    return pa.table({"query": np.repeat(np.arange(20), 10), "grade": grade, **columns})


def written(path: Path, table: pa.Table) -> Path:
    csv.write_csv(table, path)
    return path


def settings_of(train: Path, heldout: Path, **more: Any) -> RunSettings:
    data = DataSettings(str(train), heldout=str(heldout), **more)
    return RunSettings("pairrank", data=data, rounds=60, n_points=1)


def test_heldout_columns_in_another_order_change_nothing(tmp_path: Path) -> None:
    train = written(tmp_path / "tr.csv", table_of(0))
    heldout = table_of(1)
    plain = written(tmp_path / "te.csv", heldout)
    turned = written(tmp_path / "turned.csv", heldout.select(["grade", *reversed(NAMES), "query"]))
    for more in ({}, {"group": "2:q0.5"}, {"group": "4:raw:0.5"}):
        expected, found = (run(settings_of(train, each, **more))[HELDOUT_NDCG] for each in (plain, turned))
        assert found == expected, more
    assert expected is not None and expected > 0.9
    assert open_data(turned).feature_names == tuple(reversed(NAMES))


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (("price", "age", "fit"), "without noise"),
        ((*NAMES, "stock"), "with stock"),
        (("prise", "age", "fit", "noise"), "without price and with prise.*'price': Did you mean 'prise'"),
    ],
)
def test_a_missing_or_extra_feature_is_named(tmp_path: Path, names: tuple[str, ...], words: str) -> None:
    train = written(tmp_path / "tr.csv", table_of(0))
    heldout = written(tmp_path / "te.csv", table_of(1, names))
    with pytest.raises(ArgumentError, match=f"heldout: expected the features of 'tr', .*{words}"):
        run(settings_of(train, heldout))


def test_letor_text_that_mentions_fewer_features_is_not_filled_up(tmp_path: Path) -> None:
    for name, line in (("tr", "1:1 2:2 3:1"), ("te", "1:1 2:2")):
        (tmp_path / name).write_text(f"1 qid:1 {line}\n0 qid:1 1:0\n")
    with pytest.raises(ArgumentError, match=r"without 3\. .*as 3:0"):
        DataSettings(str(tmp_path / "tr"), heldout=str(tmp_path / "te")).load()


def test_the_library_matches_by_name_too() -> None:
    train, heldout = from_table(table_of(0)), from_table(table_of(1))
    turned = from_table(table_of(1).select(["query", "grade", *reversed(NAMES)]))

    def heldout_ndcg(data: Dataset) -> float | None:
        ranker = PairRank(4, seed=0)
        user = load_user("perfect", n_grades=5, seed=0)
        return simulate(ranker, train, user, rounds=50, exposure=np.ones(10), heldout=data)[HELDOUT_NDCG]

    assert heldout_ndcg(turned) == heldout_ndcg(heldout)
    with pytest.raises(ArgumentError, match="heldout: expected scaling 'query'"):
        heldout_ndcg(from_table(table_of(1), scale=None))
    with pytest.raises(ArgumentError, match="heldout: expected the features of 'data'"):
        heldout_ndcg(from_table(table_of(1, ("price", "age", "fit"))))


@pytest.mark.parametrize("host", [True, False])
def test_a_prior_for_other_features_is_refused_in_the_library_too(host: bool) -> None:
    train = from_table({**table_of(0).to_pydict(), "group": ["x", "y"] * 100})

    def start(prior: Prior) -> None:
        learner = PairRank(4, prior=prior, seed=0)
        ranker = FairExp(learner, tolerance=1.0, beta=1.0) if host else learner
        user = load_user("perfect", n_grades=5, seed=0)
        simulate(ranker, train, user, rounds=2, exposure=1 / np.arange(1, 11), shares=np.ones(2))

    weights = {"strength": 5.0, "weights": [1.0, 2.0, 3.0, 4.0]}
    start(Prior(**weights, feature_names=NAMES, scaling="query"))
    start(Prior(**weights))
    for own, words in (
        ({"feature_names": NAMES, "scaling": "none"}, "weights learned with scaling 'none'"),
        ({"feature_names": NAMES[::-1]}, "in another order"),
        ({"feature_names": (*NAMES[:3], "stock")}, "one without 'noise'"),
    ):
        with pytest.raises(ArgumentError, match=words):
            start(Prior(**weights, **own))


@given(order=st.permutations(range(4)), blanked=st.sets(st.integers(1, 4)), rows=st.booleans())
def test_a_permutation_is_undone_with_all_that_goes_by_feature(order: list[int], blanked: set[int], rows: bool) -> None:
    table = table_of(3)
    data = replace(from_table(table), blanked=tuple(sorted(blanked)))
    names = [NAMES[place] for place in order]
    turned = from_table(table.select(["query", "grade", *names]))
    turned = replace(turned, blanked=tuple(sorted(names.index(NAMES[each - 1]) + 1 for each in blanked)))
    if rows:
        data, turned = data.subset([3, 1]), turned.subset([3, 1])
    back = turned.with_features_of(data)
    assert back.feature_names == data.feature_names and back.blanked == data.blanked
    assert np.array_equal(back.query(0).features, data.query(0).features)
    for feature in range(1, 5):
        assert np.array_equal(back.column(feature, on="raw"), data.column(feature, on="raw"))
    assert data.with_features_of(data) is data


def test_names_stay_through_the_cache_and_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIREXP_CACHE", str(tmp_path / "cache"))
    text = tmp_path / "a.txt"
    text.write_text("1 qid:1 1:0.5 3:2\n0 qid:1 2:1\n2 qid:2 1:1\n")
    for _ in range(2):
        data = read_letor(text)
        assert (data.feature_names, data.scaling) == (("1", "2", "3"), "query")
        assert read_letor(text, scale=None).scaling == "none"
    grouped = from_table({**table_of(0).to_pydict(), "group": ["x", "y"] * 100})
    for part in (grouped.subset([5, 2]), grouped.without_irrelevant(), grouped.grouped("1:q0.5").subset([1])):
        assert part.feature_names == NAMES and part.scaling == "query"
    assert grouped.subset([5]).group_names == ("x", "y")
    assert world("frequent").scaling == "query" and world("frequent").feature_names[-1] == "46"


def test_matrices_are_numbered_as_letor_is(tmp_path: Path) -> None:
    matrix = np.random.default_rng(0).random((4, 3))
    np.save(tmp_path / "a.npy", np.column_stack([[1, 1, 2, 2], [0, 1, 0, 1], matrix]))
    np.savez(tmp_path / "a.npz", query=[1, 1, 2, 2], grade=[0, 1, 0, 1], X=matrix)
    for path in ("a.npy", "a.npz"):
        assert read_table(tmp_path / path).feature_names == ("1", "2", "3")


def test_names_that_do_not_fit_are_refused() -> None:
    data = from_table(table_of(0))
    for names in (("a", "b"), ("a", "a", "b", "c")):
        with pytest.raises(ArgumentError, match="feature_names: expected 4 names that differ"):
            replace(data, feature_names=names)
    with pytest.raises(ArgumentError, match="scaling: expected one of 'none', 'query'"):
        replace(data, scaling="running")


def test_a_number_that_is_another_features_name_is_ambiguous() -> None:
    data = replace(from_table(table_of(0)), feature_names=("0", "1", "2", "3"))
    with pytest.raises(ArgumentError, match=r"feature: .*got 1, which is the name of another feature"):
        data.grouped("1:q0.5")
    assert data.grouped("4:q0.5").n_groups == 2


def test_what_is_read_is_told_on_one_line() -> None:
    assert contents(world("frequent")) == (
        "frequent: 46 features: 1, 2, 3, ... 46; 2 groups: high PageRank, low PageRank"
    )
    assert contents(from_table(table_of(0), name="tr")) == "tr: 4 features: price, age, fit, noise"
    many = from_table({"query": [1], "grade": [0], **{f"f{each}": [1.0] for each in range(40)}})
    assert contents(many).startswith("data: 40 features: f0, f1, ") and contents(many).endswith(", f14, ... f39")


def test_groups_are_called_after_the_feature(tmp_path: Path) -> None:
    names = from_table(table_of(0)).grouped("1:raw:0.5").group_names
    assert names == ("feature price > 0.5", "feature price <= 0.5")
