from __future__ import annotations

from pathlib import Path

import pytest

from fairexp import FairExp, PairRank
from fairexp.errors import ArgumentError
from fairexp.lab.experiments.plan.yaml_file import read_experiment
from fairexp.registry import construct


def written(folder: Path, text: str, name: str = "own.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_the_paper_is_twelve_settings_with_its_grids() -> None:
    paper, _ = read_experiment("paper")
    assert len(paper.data) * len(paper.users) == 12
    assert {label: len(spec.choices()) for label, spec in paper.rankers.items()} == {
        "pairrank": 9,
        "fairexp-pairrank": 9,
        "fairco": 3,
        "pdgd": 3,
        "dbgd": 3,
    }
    assert [spec.paper_beta for spec in paper.data.values()] == [1.22, 1.0, 1.0, 0.477]
    assert paper.sweep is not None and {0.05, 0.1} <= set(paper.sweep.values)


def test_quick_is_the_paper_made_smaller() -> None:
    paper, quick = read_experiment("paper")[0], read_experiment("quick")[0]
    assert list(quick.data) == list(paper.data) and list(quick.rankers) == list(paper.rankers)
    assert quick.rounds < paper.rounds
    assert set(quick.rankers["pairrank"].grid["alpha"]) < set(paper.rankers["pairrank"].grid["alpha"])


@pytest.mark.parametrize("name", ["paper", "quick"])
def test_the_paper_is_reproduced_with_its_own_settings_and_values(name: str) -> None:
    """What is built for every choice of the grid is what `paper` builds, with values that the paper tried."""
    rankers, tried = read_experiment(name)[0].rankers, {0.1, 0.01, 0.001}
    for label in ("pairrank", "fairexp-pairrank"):
        for choice in rankers[label].choices():
            values = {key: choice[key] for key in ("alpha", "regularization")}
            assert set(values.values()) <= tried
            built = construct(rankers[label].ranker, choice, known={"n_features": 3})
            alone = PairRank.paper(3, **values)
            assert repr(built) == repr(alone if label == "pairrank" else FairExp.paper(alone))


def test_the_papers_settings_are_known_of_its_own_rankers_only(tmp_path: Path) -> None:
    path = written(tmp_path, "extends: quick\nname: mine\nrankers:\n  pdgd: {ranker: pdgd, parameters: paper}\n")
    with pytest.raises(ArgumentError, match="parameters by name, or paper for pairrank and fairexp-pairrank"):
        read_experiment(path)


def test_the_same_but(tmp_path: Path) -> None:
    written(tmp_path, "extends: quick\nname: base\nrounds: 77\nrankers: {dbgd: null}\n", "base.yaml")
    path = written(tmp_path, "extends: base.yaml\nname: child\nseeds: [3, 5]\ndata: {yahoo-9: {rounds: 5}}\n")
    experiment, folders = read_experiment(path)
    assert (experiment.name, experiment.rounds, experiment.seed_list) == ("child", 77, [3, 5])
    assert "dbgd" not in experiment.rankers and "pdgd" in experiment.rankers
    assert experiment.data["yahoo-9"].rounds == 5 and experiment.data["yahoo-9"].group == "feature-9"
    assert folders == (tmp_path,)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "extends: quick\nrankers:\n  pdgd:\n    gird: {learning_rate: [1]}\n",
            ["rankers.pdgd.gird", "line 4", "'grid'"],
        ),
        ("extends: quick\nroundss: 5\n", ["roundss", "line 2", "'rounds'"]),
        ("extends: quick\nrounds: many\n", ["rounds", "line 2", "many", "integer"]),
        ("extends: quick\nrounds: 0\n", ["rounds", "line 2", "0", "greater than or equal to 1"]),
        ("extends: quick\nbeta: by_luck\n", ["beta", "line 2", "average_utility", "by_luck"]),
        ("extends: quick\nseeds: [1, 1]\n", ["seeds", "differ"]),
        ("extends: quick\nsweep: {ranker: nobody}\n", ["sweep.ranker", "nobody", "fairexp-pairrank"]),
        ("name: x\nusers: [perfect]\nrankers: {a: {ranker: pdgd}}\n", ["data", "nothing"]),
        ("extends: quick\nusers: [a/perfect.yaml, b/perfect.yaml]\nsweep: null\n", ["users", "different names"]),
        ("extends: quick\ndata: {x: {source: yahoo-9}}\nbeta: paper\n", ["data.x.paper_beta", "paper"]),
        ("extends: quick\n  rounds: 5\n", ["does not parse", "line 2"]),
        ("- 1\n", ["holds no keys"]),
        ("extends: own.yaml\n", ["own.yaml", "circle"]),
        ("extends: elsewhere.yaml\n", ["elsewhere.yaml", "paper, quick"]),
    ],
)
def test_mistakes_are_told_with_their_place(tmp_path: Path, text: str, told: list[str]) -> None:
    with pytest.raises(ArgumentError) as caught:
        read_experiment(written(tmp_path, text))
    for part in told:
        assert part in str(caught.value)


def test_a_mistake_in_the_parent_is_placed_there(tmp_path: Path) -> None:
    written(tmp_path, "extends: quick\n\nseedz: 5\n", "base.yaml")
    with pytest.raises(ArgumentError, match=r"seedz \(.*base.yaml, line 3\).*'seeds'"):
        read_experiment(written(tmp_path, "extends: base.yaml\nname: child\n"))


@pytest.mark.parametrize("path", sorted((Path(__file__).resolve().parents[3] / "examples").glob("*.yaml")), ids=str)
def test_examples_are_valid(path: Path) -> None:
    experiment, _ = read_experiment(path)
    assert experiment.name == path.stem
