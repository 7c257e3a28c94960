from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairexp.errors import ArgumentError
from fairexp.measures import (
    HELDOUT_NDCG,
    MAX_UF,
    MEAN_UF,
    MEASURES,
    NDCG,
    ONLINE_NDCG,
    QUALIFIED_SHARE,
    SPEED,
    Measure,
    parse_measure,
    share_text,
)

DOCS = Path(__file__).parents[1] / "docs" / "users-and-metrics.md"


@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_a_measure_is_read_back_from_what_it_prints(measure: Measure) -> None:
    assert parse_measure(str(measure)) == measure and f"{measure}" == measure.name


@given(cutoff=st.integers(1, 10**6))
def test_any_cutoff_is_read_back(cutoff: int) -> None:
    assert str(NDCG @ cutoff) == f"nDCG@{cutoff}" and parse_measure(f"nDCG@{cutoff}") == NDCG @ cutoff


def test_no_two_print_alike_and_all_say_what_they_are() -> None:
    assert len({measure.name for measure in MEASURES}) == len(MEASURES)
    for measure in MEASURES:
        assert measure.heading and measure.definition.endswith(".") and measure.better in ("higher", "lower", "")


@pytest.mark.parametrize(
    "text", ["", "ndcg@10", "nDCG", "UF@10", "nDCG@", "nDCG@ten", "nDCG@-1", "max UF ", "nDCG@10@5"]
)
def test_what_is_no_measure_is_refused_with_those_there_are(text: str) -> None:
    with pytest.raises(ArgumentError, match="max UF"):
        parse_measure(text)


def test_a_cutoff_must_make_sense() -> None:
    with pytest.raises(ArgumentError, match="at least 1"):
        parse_measure("nDCG@0")
    with pytest.raises(ArgumentError, match="no positions"):
        MAX_UF @ 10
    with pytest.raises(ArgumentError, match="whole number"):
        NDCG @ True


def test_large_numbers_lose_digits_after_the_point_and_no_others() -> None:
    texts = [MEAN_UF.text(value) for value in (0.0, 0.0567, 9.8765, 98.765, 987.654, 9876.54, 98765.4)]
    assert texts == ["0.000", "0.057", "9.877", "98.77", "987.7", "9,877", "98,765"]
    assert HELDOUT_NDCG.text(0.45678) == "0.4568" and SPEED.text(1234.5) in ("1,234", "1,235")
    assert MEAN_UF.text(-12.3456) == "-12.35" and MEAN_UF.text(None) == "-"


def test_an_interval_has_the_digits_of_its_mean() -> None:
    assert ONLINE_NDCG.text(999.04, 126.04) == "999.0 ± 126.0" and ONLINE_NDCG.text(1000.0, 126.04) == "1,000 ± 126"
    assert QUALIFIED_SHARE.text(0.9, 0.0123) == "90.0% ± 1.2"


def test_a_share_is_never_rounded_up_to_all() -> None:
    assert [share_text(value) for value in (1.0, 0.99999, 0.9, 0.0)] == ["100%", "99.9%", "90.0%", "0.0%"]
    assert QUALIFIED_SHARE.text(None) == "-"


def test_the_docs_list_every_measure() -> None:
    lines = [line for line in DOCS.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    for measure in MEASURES:
        assert f"| `{measure}` | {measure.better or '-'} | {measure.definition} |" in lines
