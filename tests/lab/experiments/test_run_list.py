from __future__ import annotations

from pathlib import Path

import pytest

from fairexp.errors import ArgumentError, DataError
from fairexp.lab.experiments.plan.prepared import prepare
from fairexp.lab.experiments.plan.run_list import choose, final_runs, make_run, places, tuning_runs
from fairexp.lab.experiments.plan.yaml_file import validated
from fairexp.lab.experiments.store import open_records_store
from tests.lab.experiments.conftest import SMALL, letor_set, small


@pytest.fixture(scope="module")
def folds():  # type: ignore[no-untyped-def]
    return prepare(small())


def test_ids_are_readable_and_unique(folds) -> None:  # type: ignore[no-untyped-def]
    runs = tuning_runs(small(), folds)
    assert runs[0].id == "pagerank/perfect/fold-1/pdgd/learning_rate=0.1/tuning/seed-0"
    assert len({run.key for run in runs}) == len(runs) == 2 * 2 * 2


def test_every_ranker_meets_the_same_queries_and_coins(folds) -> None:  # type: ignore[no-untyped-def]
    experiment = small()
    chosen = choose(experiment, tuning_runs(experiment, folds), {})
    seeds = {(run.seed, run.fold): set() for run in final_runs(experiment, folds, chosen)}
    for run in final_runs(experiment, folds, chosen):
        seeds[run.seed, run.fold].add(run.settings.seed)
    assert all(len(found) == 1 for found in seeds.values())
    assert len(set.union(*seeds.values())) == 2


def test_the_digest_tells_what_matters(folds) -> None:  # type: ignore[no-untyped-def]
    place = places(small())[0]
    run = make_run(small(), folds, place, {}, 0)
    assert run.key == make_run(small(), folds, place, {}, 0).key
    others = [
        make_run(small(rounds=13), folds, place, {}, 0),
        make_run(small(n_points=4), folds, place, {}, 0),
        make_run(small(stop_after="any"), folds, place, {}, 0),
        make_run(small(), folds, place, {"alpha": 0.5}, 0),
        make_run(small(), folds, place, {}, 1),
    ]
    assert len({run.digest, *(other.digest for other in others)}) == 6
    assert others[0].id == run.id  # the id is for people, the digest for records


def test_defaults_of_a_ranker_are_part_of_the_digest(folds, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    import fairexp

    place = ("pagerank", "perfect", 1, "dbgd")
    before = make_run(small(), folds, place, {}, 0).digest
    known = fairexp.rankers.DBGD.__signature__
    others = [each.replace(default=0.5) if each.name == "step" else each for each in known.parameters.values()]
    monkeypatch.setattr(fairexp.rankers.DBGD, "__signature__", known.replace(parameters=others))
    assert make_run(small(), folds, place, {}, 0).digest != before


def test_the_best_on_validation_is_chosen(folds) -> None:  # type: ignore[no-untyped-def]
    experiment = small()
    runs = tuning_runs(experiment, folds)
    scores = {run.key: 0.5 if run.parameters["learning_rate"] == 0.01 else 0.4 for run in runs}
    chosen = choose(experiment, runs, scores)
    assert chosen["pagerank", "perfect", 1, "pdgd"] == {"learning_rate": 0.01}
    assert chosen["pagerank", "perfect", 1, "dbgd"] == {}
    level = choose(experiment, runs, dict.fromkeys(scores, 0.5))
    assert level["pagerank", "perfect", 1, "pdgd"] == {"learning_rate": 0.1}  # of equals the first


def test_a_choice_with_a_failed_run_does_not_stand(folds) -> None:  # type: ignore[no-untyped-def]
    experiment = small()
    runs = tuning_runs(experiment, folds)
    scores = {run.key: None if run.parameters["learning_rate"] == 0.1 else 0.1 for run in runs}
    assert choose(experiment, runs, scores)["pagerank", "perfect", 1, "pdgd"] == {"learning_rate": 0.01}
    assert ("pagerank", "perfect", 1, "pdgd") not in choose(experiment, runs, {})


def test_the_sweep_shares_runs_with_the_rest(folds) -> None:  # type: ignore[no-untyped-def]
    experiment = small()
    chosen = choose(experiment, tuning_runs(experiment, folds), {})
    fair = [run for run in final_runs(experiment, folds, chosen) if run.ranker == "fairexp-pairrank"]
    tolerances = sorted(run.parameters["tolerance"] for run in fair if run.user == "navigational" and run.seed == 0)
    assert tolerances == [0.05, 0.05, 0.1, 0.1, 5, 5]  # once for each of the two data sets
    assert {run.parameters["tolerance"] for run in fair if run.user == "perfect"} == {0.1}


def test_shorter_tuning_is_another_run(folds) -> None:  # type: ignore[no-untyped-def]
    short, whole = (tuning_runs(small(tuning=tuning), folds)[0] for tuning in ({"rounds": 5}, {}))
    assert short.settings.rounds == 5 and whole.settings.rounds == 12 and short.key != whole.key


def test_choices_are_made_by_runs_that_do_not_count(folds) -> None:  # type: ignore[no-untyped-def]
    experiment = small(tuning={"seeds": 2})
    tuning = tuning_runs(experiment, folds)
    final = final_runs(experiment, folds, choose(experiment, tuning, {run.key: 0.5 for run in tuning}))
    assert not {run.settings.seed for run in tuning} & {run.settings.seed for run in final}
    assert not {run.id for run in tuning} & {run.id for run in final}
    assert len({run.settings.seed for run in tuning}) == 2  # the same for every ranker and choice


def test_exposure_is_estimated_for_each_user_and_kept(tmp_path: Path) -> None:
    experiment = small(exposure_sessions=4000)
    store = open_records_store(tmp_path)
    first = prepare(experiment, store)["pagerank", 1]
    flat, steep = first.exposure["perfect"], first.exposure["navigational"]
    assert flat[0] == steep[0] == 1.0
    assert flat[9] > 0.7 > steep[9]
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.json")}
    assert prepare(experiment, store)["pagerank", 1] == first
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.json")} == kept


@pytest.mark.parametrize(("rule", "beta"), [("paper", 1.22), (2.5, 2.5), ("equal", 1.0), ("average_utility", 1.2)])
def test_beta(rule: str | float, beta: float) -> None:
    data = {"x": {"source": "mslr-pagerank", "n_queries": 300, "paper_beta": 1.22}}
    made = prepare(small(beta=rule, data=data, exposure="reciprocal"))["x", 1]
    assert made.beta == pytest.approx(beta, abs=0.1 if rule == "average_utility" else 1e-12)


def own_set(place: Path, **changes: object) -> dict[str, object]:
    spec = {"source": "mine", "folder": str(place), "group": "2:0.5", "folds": 2, **changes}
    return {**SMALL, "data": {"mine": spec}, "length": 5}


def test_any_letor_set_in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIREXP_CACHE", str(tmp_path / "cache"))
    letor_set(tmp_path / "set", 2)
    folds = prepare(validated(own_set(tmp_path / "set")))
    assert folds["mine", 2].n_queries == 6 and folds["mine", 2].n_features == 3 and not folds["mine", 2].synthetic
    moved = letor_set(tmp_path / "elsewhere", 2)
    assert prepare(validated(own_set(moved)))["mine", 1].fingerprint == folds["mine", 1].fingerprint


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"folds": 3}, ["data.mine, fold 3", "Fold3", "Fold1, Fold2"]),
        ({"group": "2:9"}, ["data.mine, fold 1", "no document in group 0"]),
        ({"group": "7:0.5"}, ["data.mine, fold 1", "a number from 1 to 3"]),
        ({"group": None}, ["data.mine.group", "--group"]),
        ({"folder": None}, ["data.mine.source", "mslr-web10k"]),
    ],
)
def test_data_that_cannot_work_is_refused_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, object], told: list[str]
) -> None:
    monkeypatch.setenv("FAIREXP_CACHE", str(tmp_path / "cache"))
    letor_set(tmp_path / "set", 2)
    with pytest.raises((ArgumentError, DataError)) as caught:
        prepare(validated(own_set(tmp_path / "set", **changes)))
    for part in told:
        assert part in str(caught.value)


def test_what_features_are_called_is_told_for_every_fold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIREXP_CACHE", str(tmp_path / "cache"))
    letor_set(tmp_path / "set", 2)
    told: list[str] = []
    prepare(validated(own_set(tmp_path / "set")), tell=told.append)
    lines = [line for line in told if ": 3 features: 1, 2, 3; 2 groups: " in line]
    assert [line[:14] for line in lines] == ["mine, fold 1: ", "mine, fold 2: "]
