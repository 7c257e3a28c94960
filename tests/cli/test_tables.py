from __future__ import annotations

import io

import pytest
from rich.console import Console

from fairexp.cli.printing.summary import Estimate, Summary
from fairexp.cli.printing.tables import comparison, share


def summary(ranker: str, online: float, *, rounds: int = 1000, largest: float | None = 12_345.678) -> Summary:
    measures: dict[str, Estimate | None] = {
        "online_ndcg": Estimate(online, 126.04),
        "offline_ndcg": Estimate(0.4567, 0.1),
        "mean_unfairness": Estimate(0.0567, 0.0),
        "final_unfairness": Estimate(99.999, 0.0),
        "qualified_share": Estimate(0.99999, 0.0) if "fair" in ranker else None,
        "mean_added_regret": Estimate(9.594, 0.0),
        "mean_misordered_pairs": Estimate(1.0, 0.0),
        "rounds_per_second": Estimate(12_345.6, 0.0),
    }
    return Summary(ranker, "perfect", 2, rounds, measures, largest)


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
        "fairexp-pairrank", "912.3±126.0", "91.2", "0.457", "12,346", "0.06", "100.00", "99.9%", "9.59", "12,346",
    ]  # fmt: skip
    assert cells(lines, "pairrank")[2:8] == ["100.0", "0.457", "12,346", "0.06", "100.00", "-"]


@pytest.mark.parametrize("width", [60, 80, 90, 100, 120])
def test_no_line_is_wider_than_the_terminal_and_none_is_cut(width: int) -> None:
    lines = printed([summary("pairrank", 1_000.0), summary("fairexp-pairrank", 999.0)], width)
    assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    assert "…" not in text and "fairexp-pairrank" in text and "999.0 ± 126.0" in text
    assert len([line for line in lines if "pairrank" in line and "±" in line]) == 2


def test_numbers_are_right_aligned() -> None:
    lines = printed([summary("pairrank", 1_000.0), summary("random", 9.0)])
    ends = {line.index(" ± 126.0") for line in lines if " ± 126.0" in line}
    assert len(ends) == 1


def test_percent_is_of_pairrank_wherever_it_stands_else_of_the_first() -> None:
    assert cells(printed([summary("pdgd", 50.0), summary("pairrank", 100.0)]), "pdgd")[2] == "50.0"
    assert cells(printed([summary("pdgd", 50.0), summary("dbgd", 25.0)]), "dbgd")[2] == "50.0"


def test_lines_of_unequal_length_say_so_and_are_not_compared() -> None:
    lines = printed([summary("pairrank", 100.0), summary("pdgd", 10.0, rounds=70)])
    assert cells(lines, "pdgd")[1] == "70" and cells(lines, "pairrank")[1] == "1,000"
    assert cells(lines, "pdgd")[3] == "-"


def test_a_share_is_never_rounded_up_to_all() -> None:
    assert [share(value) for value in (1.0, 0.99999, 0.9, 0.0, None)] == ["100%", "99.9%", "90.0%", "0.0%", "-"]
