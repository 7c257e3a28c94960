from __future__ import annotations

import io

import pytest
from rich.console import Console

from fairexp.cli.printing import Summary, comparison
from fairexp.measures import (
    FINAL_UF,
    HELDOUT_NDCG,
    MEAN_ADDED_REGRET,
    MEAN_MISORDERED,
    MEAN_UF,
    ONLINE_NDCG,
    QUALIFIED_SHARE,
    SPEED,
    Measure,
)
from fairexp.statistics import Effect, quantile


def summary(ranker: str, online: float, *, rounds: int = 1000, largest: float | None = 12_345.678) -> Summary:
    def around(value: float, half_width: float = 0.0) -> Effect:
        """Two seeds with this mean and interval."""
        error = half_width / quantile(1, 0.975)
        return Effect(value, value - half_width, value + half_width, None, 2, 2, error)

    means: dict[Measure, Effect | None] = {
        ONLINE_NDCG: around(online, 126.04),
        HELDOUT_NDCG: around(0.4567, 0.1),
        MEAN_UF: around(0.0567),
        FINAL_UF: around(99.999),
        QUALIFIED_SHARE: around(0.99999) if "fair" in ranker else None,
        MEAN_ADDED_REGRET: around(9.594),
        MEAN_MISORDERED: around(1.0),
        SPEED: around(12_345.6),
    }
    return Summary(ranker, "perfect", 2, rounds, means, largest)


def printed(summaries: list[Summary], width: int = 100) -> list[str]:
    console = Console(file=io.StringIO(), width=width)
    console.print(comparison(summaries, width=width))
    return console.file.getvalue().splitlines()  # type: ignore[attr-defined,no-any-return]


def cells(lines: list[str], ranker: str) -> list[str]:
    (line,) = [line for line in lines if line.split()[:1] == [ranker]]
    return line.replace(" ± ", "±").split()


def test_the_numbers_are_the_summaries() -> None:
    lines = printed([summary("pairrank", 1_000.0), summary("fairexp-pairrank", 912.34)], width=120)
    assert cells(lines, "fairexp-pairrank") == [
        "fairexp-pairrank", "912.3±126.0", "91.2", "0.4567", "12,346", "0.057", "100.00", "99.9%", "9.59", "12,346",
    ]  # fmt: skip
    assert cells(lines, "pairrank")[2:8] == ["100.0", "0.4567", "12,346", "0.057", "100.00", "-"]


@pytest.mark.parametrize("width", [60, 80, 90, 100, 120])
def test_no_line_is_wider_than_the_terminal_and_none_is_cut(width: int) -> None:
    lines = printed([summary("pairrank", 1_000.0), summary("fairexp-pairrank", 999.0)], width)
    assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    assert "…" not in text and "fairexp-pairrank" in text and "999.0 ± 126.0" in text
    assert len([line for line in lines if "pairrank" in line and "±" in line]) == 2


def test_numbers_are_right_aligned() -> None:
    lines = printed([summary("pairrank", 999.0), summary("random", 9.0)])
    ends = [line.index(" ± 126.0") for line in lines if " ± 126.0" in line]
    assert len(ends) == 2 and len(set(ends)) == 1


def test_percent_is_of_pairrank_wherever_it_stands_else_of_the_first() -> None:
    assert cells(printed([summary("pdgd", 50.0), summary("pairrank", 100.0)]), "pdgd")[2] == "50.0"
    assert cells(printed([summary("pdgd", 50.0), summary("dbgd", 25.0)]), "dbgd")[2] == "50.0"


def test_lines_of_unequal_length_say_so_and_are_not_compared() -> None:
    lines = printed([summary("pairrank", 100.0), summary("pdgd", 10.0, rounds=70)])
    assert cells(lines, "pdgd")[1] == "70" and cells(lines, "pairrank")[1] == "1,000"
    assert cells(lines, "pdgd")[3] == "-"
