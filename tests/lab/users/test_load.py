"""Users by name and from YAML files."""

import pytest

from fairexp.errors import ArgumentError
from fairexp.lab.users import Cascade, DependentClickModel, PositionBased, load_user


def written(tmp_path, text):
    path = tmp_path / "user.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_presets_by_name():
    user = load_user("navigational", n_grades=3, stop_after="any", seed=1)
    assert isinstance(user, DependentClickModel)
    assert user.click.tolist() == [0.05, 0.5, 0.95]
    assert user.stop.tolist() == [0.2, 0.5, 0.9]
    assert user.stop_after == "any"
    assert load_user("perfect").n_grades == 5


def test_each_model_from_a_file(tmp_path):
    dependent = load_user(written(tmp_path, "model: dependent\nclick: [0, 1]\nstop: [0.5, 0.25]\nstop_after: any\n"))
    assert isinstance(dependent, DependentClickModel)
    assert (dependent.click.tolist(), dependent.stop.tolist()) == ([0.0, 1.0], [0.5, 0.25])
    assert dependent.stop_after == "any"
    position = load_user(written(tmp_path, "model: position\nexamination: [1, 0.5]\nattraction: [0.1, 0.9, 1]\n"))
    assert isinstance(position, PositionBased)
    assert (position.examination.tolist(), position.attraction.tolist()) == ([1.0, 0.5], [0.1, 0.9, 1.0])
    cascade = load_user(str(written(tmp_path, "model: cascade\nattraction: [0.1, 0.9]\n")), n_grades=2)
    assert isinstance(cascade, Cascade)


def test_the_seed_and_the_override_reach_the_user(tmp_path):
    path = written(tmp_path, "model: dependent\nclick: [0.5, 0.5]\nstop: [0.5, 0.5]\n")
    first, second, other = load_user(path, seed=4), load_user(path, seed=4), load_user(path, seed=5)
    grades = [[0] * 20] * 20
    assert (first.visit_many(grades).clicks == second.visit_many(grades).clicks).all()
    assert (first.visit_many(grades).clicks != other.visit_many(grades).clicks).any()
    overridden = load_user(path, stop_after="any")
    assert isinstance(overridden, DependentClickModel)
    assert overridden.stop_after == "any"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("model: dependent\nclick: [0, 2]\nstop: [0, 0]", r"click \(in .*user.yaml\): .*got 2.0 at index 1"),
        ("model: dependent\nclick: [0, 1]\nstop: [0]", r"stop \(in .*\): expected 2 values, one per grade, got 1"),
        ("model: dependent\nclick: [0, 1]", r"stop \(in .*\): expected a list of probabilities, which 'dependent'"),
        ("model: cascade\nattraction: [0, 1]\nstop: [1]", r"stop \(in .*\): expected only attraction for"),
        ("model: cascade\nattraction: often", r"attraction \(in .*\): expected a list of at least one probability"),
        ("model: dependent\nclick: [0]\nstop: [0]\nstop_after: 3", r"stop_after \(in .*\): expected one of"),
        ("model: neural", r"model \(in .*\): expected one of 'dependent', 'position', 'cascade', got 'neural'"),
        ("model: [a]", r"model \(in .*\): expected one of"),
        ("click: [0]", r"model \(in .*\): expected one of .* got nothing"),
        ("just words", "user: expected a YAML file with lines such as 'model: cascade'"),
        ("model: [", "user: expected a YAML file, got .* which does not parse"),
    ],
)
def test_mistakes_in_files_are_named(tmp_path, text, message):
    with pytest.raises(ArgumentError, match=message):
        load_user(written(tmp_path, text))


def test_a_table_for_other_grades_is_refused(tmp_path):
    path = written(tmp_path, "model: cascade\nattraction: [0.1, 0.9]\n")
    with pytest.raises(ArgumentError, match=r"attraction \(in .*\): expected 5 values, one per grade, got 2 values"):
        load_user(path, n_grades=5)


def test_neither_preset_nor_file():
    with pytest.raises(ArgumentError, match=r"user: expected one of 'perfect'.*YAML file that exists, got 'perfct'"):
        load_user("perfct")
