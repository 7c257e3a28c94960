"""The library call: what it takes, what it measures by, and what it says about a run beside its result."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairexp import FairCo, FairExp, PairRank, RandomRanker
from fairexp.errors import ArgumentError, DataError, RunWarning
from fairexp.fairness.exposure import exposure_curve
from fairexp.lab.data import Dataset, world
from fairexp.lab.simulation import Result, simulate
from fairexp.lab.simulation.recorder import Recording
from fairexp.lab.simulation.rows import read_run
from fairexp.lab.simulation.run import run
from fairexp.lab.simulation.settings import DataSettings, RunSettings, shares_of
from fairexp.lab.users import dependent_clicks, load_user
from fairexp.measures import FINAL_UF, HELDOUT_NDCG, MAX_UF, ONLINE_NDCG, QUALIFIED_SHARE, SPEED

DATA = world("mslr-pagerank", n_queries=20)


def fair(**options: Any) -> FairExp:
    return FairExp(PairRank(DATA.n_features, length=5), **{"tolerance": 2.0, "seed": 1, **options})


def played(ranker: Any = None, **options: Any) -> Result:
    given = {"rounds": 30, "n_points": 2, "seed": 3, **options}
    return simulate(ranker or fair(), DATA, dependent_clicks("perfect", seed=2), **given)


def measures(result: Result) -> dict[Any, float | None]:
    return {measure: value for measure, value in result.measures.items() if measure is not SPEED}


def test_a_promise_is_measured_as_it_was_made() -> None:
    """Around shares of 1 : 9 and a flat curve, measured by default: the tolerance holds where rounds are qualified."""
    ranker = fair(shares=[1.0, 9.0], exposure="flat", tolerance=6.0)
    result = played(ranker)
    assert result[QUALIFIED_SHARE] == 1.0
    assert result.value(MAX_UF) <= 6.0 + 1e-9
    assert result[FINAL_UF] == pytest.approx(ranker.ledger.largest_gap)


@pytest.mark.parametrize(
    ("build", "given", "told"),
    [
        ({"shares": [1.0, 9.0]}, {"shares": [1.0, 1.0]}, ["shares", "0.1 : 0.9", "0.5 : 0.5"]),
        ({"beta": 3.0}, {"shares": "equal"}, ["shares", "0.75 : 0.25", "0.5 : 0.5"]),
        ({"exposure": "flat"}, {"exposure": "reciprocal"}, ["exposure", "'flat'", "'reciprocal'"]),
        (
            {"exposure": [1, 0.9, 0.5, 0.4, 0.1]},
            {"exposure": "flat"},
            ["exposure", "[1, 0.9, 0.5, 0.4, 0.1]", "'flat'"],
        ),
    ],
)
def test_what_contradicts_the_ranker_is_an_error_with_both_values(
    build: dict[str, Any], given: dict[str, Any], told: list[str]
) -> None:
    ranker = fair(**build)
    with pytest.raises(ArgumentError) as caught:
        played(ranker, **given)
    assert all(text in str(caught.value) for text in told)
    assert ranker.n_ranked == 0


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("fairco", "exposure", "flat"),
        ("fairco", "merit", [1.0, 4.0]),
        ("ears", "exposure", "flat"),
        ("offr-pairrank", "exposure", "flat"),
        ("offr-pairrank", "shares", [1.0, 4.0]),
        ("fairexp-pairrank", "exposure", "flat"),
        ("fairexp-pairrank", "shares", [1.0, 4.0]),
        ("fairexp-pairrank", "beta", 0.25),
    ],
)
def test_runs_by_settings_are_held_to_the_same(name: str, key: str, value: Any) -> None:
    settings = RunSettings(name, {key: value}, DataSettings(n_queries=5), rounds=3)
    with pytest.raises(ArgumentError, match="which the ranker was built with"):
        run(settings)
    same = {"exposure": {"exposure": "flat"}}.get(key, {"shares": (2.0, 8.0)})
    assert run(replace(settings, **same)).rounds == 3


def test_the_same_targets_said_twice_are_no_contradiction() -> None:
    alone = played(fair(shares=[1.0, 3.0]))
    twice = played(fair(shares=[1.0, 3.0]), shares=[5.0, 15.0], exposure=exposure_curve("reciprocal", 8))
    assert measures(alone) == measures(twice)


def test_a_ranker_without_targets_is_measured_by_equal_shares_and_the_reciprocal_curve() -> None:
    by_default = played(PairRank(DATA.n_features, seed=1))
    given = played(PairRank(DATA.n_features, seed=1), exposure=exposure_curve("reciprocal", 10), shares=np.ones(2))
    assert measures(by_default) == measures(given)
    assert by_default[MAX_UF] is not None


def test_a_ranker_that_learns_its_shares_wants_to_be_told_what_it_is_measured_by() -> None:
    for learner in (fair(shares="merit"), FairCo(DATA.n_features, length=5)):
        with pytest.raises(ArgumentError, match=r"shares: expected what the groups are owed.*learns it"):
            played(learner)
        assert played(learner, shares="total_utility")[MAX_UF] is not None


def test_texts_stand_for_what_they_name() -> None:
    text = played(fair(), exposure="reciprocal", shares="equal", recording="shown, clicked")
    objects = played(
        fair(),
        exposure=exposure_curve("reciprocal", 5),
        shares=np.ones(2),
        recording=Recording(("shown", "clicked")),
    )
    assert measures(text) == measures(objects)
    owed = shares_of("size", DATA)
    assert owed is not None
    by_name, by_numbers = (played(RandomRanker(DATA.n_features, seed=0), shares=shares) for shares in ("size", owed))
    assert measures(by_name) == measures(by_numbers)


def test_everything_by_name(tmp_path: Path) -> None:
    """Users and rankers by name have random numbers of their own, which follow from the seed alone."""

    def all_by_name(**options: Any) -> Result:
        return simulate("random", "mslr-pagerank", "navigational", **{"rounds": 10, "n_points": 1, **options})

    first, again, other = all_by_name(), all_by_name(), all_by_name(seed=1)
    assert measures(first) == measures(again) != measures(other)
    evaluated = simulate("pdgd", "yahoo-9", "perfect", rounds=2, n_points=1, heldout="yahoo-9")
    assert evaluated[HELDOUT_NDCG] is not None and evaluated.notes == ()
    (tmp_path / "user.yaml").write_text("model: cascade\nattraction: [0.1, 0.2, 0.3, 0.4, 0.5]\n")
    assert simulate("random", DATA, tmp_path / "user.yaml", rounds=2, n_points=1).rounds == 2


def test_a_folder_by_name_holds_what_charts_read(tmp_path: Path) -> None:
    """Without a word about settings, which `read_run` needs."""
    played(folder=str(tmp_path / "run"), settings={"ranker": "mine", "rounds": 99})
    settings = json.loads((tmp_path / "run" / "settings.json").read_text())
    assert settings == {"ranker": "mine", "user": "DependentClickModel", "seed": 3, "rounds": 30, "n_points": 2}
    rows = read_run(tmp_path / "run")
    assert rows[-1]["round"] == 30 and rows[-1]["ranker"] == "mine"
    (tmp_path / "run" / "settings.json").write_text(json.dumps({"ranker": "x", "seed": 0, "n_points": 3}))
    with pytest.raises(DataError, match="user, rounds missing"):
        read_run(tmp_path / "run")


def test_what_cannot_be_played_is_said_before_a_folder_is_made(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with pytest.raises(ArgumentError, match=r"user: expected one for grades 0 to 4, .*got a user for grades 0 to 2"):
        simulate(fair(), DATA, load_user("perfect", n_grades=3), rounds=3, folder=folder)
    with pytest.raises(ArgumentError, match="train: expected data with groups, which FairExp keeps fair"):
        simulate(fair(), replace(DATA, groups=None, group_names=None), "perfect", rounds=3, folder=folder)
    with pytest.raises(ArgumentError, match=r"heldout: expected the features of .*, got 'yahoo-9' with 137"):
        simulate(fair(), DATA, "perfect", rounds=3, heldout=world("yahoo-9", n_queries=2), folder=folder)
    with pytest.raises(ArgumentError, match=r"shares: expected none, since .* no groups"):
        simulate("random", replace(DATA, groups=None, group_names=None), "perfect", rounds=3, shares=[2.0, 1.0])
    with pytest.raises(ArgumentError, match="settings: expected values that JSON can hold"):
        simulate(fair(), DATA, "perfect", rounds=3, folder=folder, settings={"a": object()})
    assert not folder.exists()


def test_measures_are_looked_up_by_what_they_print() -> None:
    result = played()
    assert result["max UF"] == result[MAX_UF] == result.value("max UF")
    assert result["held-out nDCG@10"] is None
    with pytest.raises(ArgumentError, match="measure: expected one of"):
        result["max uf"]
    with pytest.raises(ArgumentError, match=f"expected one that this run has: {ONLINE_NDCG}"):
        result.value(HELDOUT_NDCG)


def noted(data: Dataset, ranker: Any = None, **options: Any) -> list[str]:
    """The notes of a run, which are also its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = simulate(
            ranker or RandomRanker(data.n_features, seed=0),
            data,
            dependent_clicks("perfect", seed=2),
            **{"rounds": 40, "n_points": 1, **options},
        )
    assert [str(warning.message) for warning in caught] == list(result.notes) == result.summary()["notes"]
    assert all(warning.category is RunWarning for warning in caught)
    return list(result.notes)


def test_where_all_is_well_nothing_is_said() -> None:
    assert noted(DATA, fair(), heldout=world("mslr-pagerank", n_queries=20, part="test")) == []


def test_grades_that_teach_nothing_are_said() -> None:
    nothing = replace(DATA, grades=np.zeros_like(DATA.grades))
    (note,) = noted(nothing)
    assert note.startswith("training data: all grades are 0")
    test = world("mslr-pagerank", n_queries=5, part="test")
    (note,) = noted(DATA, heldout=replace(test, grades=np.zeros_like(test.grades)))
    assert note.startswith("held-out data: all grades are 0")
    (note,) = noted(replace(DATA, grades=np.ones_like(DATA.grades)))
    assert note.startswith("training data: no query has documents of different grades")


@pytest.mark.parametrize("ranker", [None, "fairexp"])
def test_one_group_only_is_said(ranker: str | None) -> None:
    one = DATA.with_groups(np.zeros(DATA.n_documents, dtype=np.int64), names=["ours"])
    (note,) = noted(one, fair() if ranker else None)
    assert note.startswith("fairness: all documents are in one group, 'ours'")
    empty = replace(DATA, groups=np.ones(DATA.n_documents, dtype=np.int64))
    (note,) = noted(empty, fair() if ranker else None)
    assert note.startswith("fairness: all documents are in one group, 'low PageRank'")


def test_heldout_queries_that_are_trained_on_are_said() -> None:
    (note,) = noted(DATA, heldout=DATA)
    assert note.startswith("held-out data: all 20 queries are also in the training data")
    renamed = replace(DATA, query_ids=tuple(f"other-{i}" for i in range(20)), features=DATA.features.copy())
    (note,) = noted(DATA, heldout=renamed)
    assert "all 20 queries" in note
    (note,) = noted(DATA.subset(range(15)), heldout=DATA.subset(range(10, 20)))
    assert "5 of the 10 queries" in note
    (note,) = noted(DATA, validation=DATA)
    assert note.startswith("validation data: all 20 queries")


def test_the_same_grades_on_other_documents_are_other_queries() -> None:
    other = replace(DATA, features=DATA.features + np.float32(0.01))
    assert noted(DATA, heldout=other) == []


def test_a_tolerance_that_most_rounds_cannot_keep_is_said() -> None:
    data = world("yahoo-471", n_queries=60)
    ranker = FairExp(PairRank(700), tolerance=0.3, seed=1)
    notes = noted(data, ranker, rounds=200)
    assert notes[0].startswith("fairness: the tolerance of 0.3 can be kept in")
    assert "'without feature 471' can get at most" in notes[1]


def test_a_coarse_curve_is_noted_of_a_ranker_by_name() -> None:
    """FairExp's own warning when it is built, which would be lost: it is built inside."""
    notes = run(
        RunSettings("fairexp-pairrank", data=DataSettings(n_queries=5), rounds=3, length=9, exposure="flat")
    ).notes
    assert notes[0].startswith("tolerance: 0.1 is below half the grid")
