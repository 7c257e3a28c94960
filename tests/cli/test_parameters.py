from __future__ import annotations

import math

import pytest

from fairexp.cli.options import numbers_or_name, parse_shares, parse_value, route, settable
from fairexp.errors import ArgumentError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("0.25", 0.25),
        ("1e-3", 0.001),
        ("inf", math.inf),
        ("false", False),
        ("theory", "theory"),
        ("[0.5, 2]", [0.5, 2]),
        ("team-draft", "team-draft"),
    ],
)
def test_values_have_the_types_they_look_like(text: str, value: object) -> None:
    found = parse_value(text)
    assert found == value and type(found) is type(value)


def test_a_value_that_is_no_yaml_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"--set: expected a YAML value, got '\[1, 2', which does not parse"):
        parse_value("[1, 2")


def test_a_key_goes_to_every_ranker_that_has_it() -> None:
    assert route(["alpha=0.3"], ["pairrank", "fairexp-pairrank", "dbgd"]) == {
        "pairrank": {"alpha": 0.3},
        "fairexp-pairrank": {"alpha": 0.3},
        "dbgd": {},
    }


def test_a_key_with_a_ranker_goes_to_that_one_and_the_last_word_counts() -> None:
    routed = route(["alpha=0.3", "fairexp-pairrank.alpha=0.5"], ["pairrank", "fairexp-pairrank"])
    assert routed == {"pairrank": {"alpha": 0.3}, "fairexp-pairrank": {"alpha": 0.5}}


def test_a_ranker_given_by_its_import_path_can_be_addressed() -> None:
    path = "fairexp.rankers.pdgd.ranker:PDGD"
    assert route([f"{path}.decay=0.5"], ["dbgd", path]) == {"dbgd": {}, path: {"decay": 0.5}}


def test_a_key_that_nobody_has_lists_what_there_is() -> None:
    with pytest.raises(ArgumentError) as caught:
        route(["alfa=1"], ["pdgd", "dbgd"])
    assert "pdgd: decay, learning_rate; dbgd: decay, interleaving, learning_rate, step" in str(caught.value)


@pytest.mark.parametrize(
    ("assignment", "problem"),
    [
        ("alpha", "key=value"),
        ("=3", "key=value"),
        ("pdgd.decay=3", r"one of the chosen rankers \(pairrank\)"),
        ("pairrank.decay=3", "a parameter that a chosen ranker has"),
        ("seed=3", "Use --seed or --seeds"),
        ("pairrank.length=3", "Use --length"),
    ],
)
def test_assignments_that_make_no_sense_are_refused(assignment: str, problem: str) -> None:
    with pytest.raises(ArgumentError, match=problem):
        route([assignment], ["pairrank"])


def test_settable_names_the_parameters_of_host_and_fairexp() -> None:
    assert {"tolerance", "ties", "alpha", "within_block"} <= set(settable("fairexp-pairrank"))


def test_shares_and_beta() -> None:
    assert parse_shares(None, None) == "equal"
    assert parse_shares("total_utility", None) == "total_utility"
    assert parse_shares("1.22,1", None) == parse_shares(None, 1.22) == (1.22, 1.0)
    with pytest.raises(ArgumentError, match="one of the two"):
        parse_shares("equal", 1.0)


def test_numbers_or_a_name() -> None:
    assert numbers_or_name("1,0.5") == (1.0, 0.5)
    assert numbers_or_name("curve.json") == "curve.json"
