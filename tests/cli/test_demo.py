from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from html import unescape
from pathlib import Path

import pytest
from typer.testing import Result

from fairexp.cli.commands.demo import RANKERS, TOLERANCE, demo_runs
from fairexp.cli.printing import Within, share_within
from tests.waiting import SECONDS

Run = Callable[..., Result]


CODE = "from fairexp.cli import main\nif __name__ == '__main__': main()"
Done = subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Done]:
    """The demo, run as a person would: in a separate process."""
    out = tmp_path_factory.mktemp("demo")
    command = [sys.executable, "-c", CODE, "demo", "--fast", "--out", str(out)]
    return out, subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)


def test_the_demo_writes_report_charts_and_runs(made: tuple[Path, Done]) -> None:
    out, result = made
    assert result.returncode == 0, result.stderr
    for name in ("online-ndcg", "heldout-ndcg", "unfairness"):
        assert (out / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (out / f"{name}.svg").read_text()
    for run in demo_runs(100, 1):
        assert json.loads((out / "runs" / run.label / "result.json").read_text())["rounds"] == 100
    assert f"Report: {(out / 'report.html').resolve()}" in result.stdout


def test_the_reading_is_computed_from_the_runs(made: tuple[Path, Done]) -> None:
    out, result = made
    results = {
        run.ranker: json.loads((out / "runs" / run.label / "result.json").read_text()) for run in demo_runs(100, 1)
    }
    text = " ".join(result.stdout.split())
    kept = 100 * results["fairexp-pairrank"]["online nDCG@10"] / results["pairrank"]["online nDCG@10"]
    assert f"at {kept:.0f}% of PairRank's online NDCG." in text
    assert f"Without it the gap grew to {results['pairrank']['max UF']:,.0f}" in text
    assert f"FairExp kept unfairness within {TOLERANCE:g} in " in text
    page = (out / "report.html").read_text()
    assert f"at {kept:.0f}% of PairRank's online NDCG." in unescape(page)


def test_the_report_has_a_line_for_every_ranker(made: tuple[Path, Done]) -> None:
    page = (made[0] / "report.html").read_text()
    for name in ("PairRank", "FairExp-PairRank", "FairCo", "PDGD", "DBGD"):
        assert f'<th scope="row">{name}</th>' in page


def test_the_share_within_tolerance_is_counted_round_by_round(made: tuple[Path, Done]) -> None:
    from pyarrow import parquet

    folder = made[0] / "runs" / "pairrank" / "navigational" / "seed-0"
    gaps = parquet.read_table(folder / "trace.parquet")["UF"].to_pylist()
    middle = sorted(gaps)[len(gaps) // 2]
    assert share_within([folder], middle).share == sum(gap <= middle for gap in gaps) / len(gaps)
    assert share_within([folder], 1e9) == Within(1.0, True)


def test_rounds_outside_are_excused_only_where_no_ranking_could() -> None:
    assert Within(0.9, True).excuse and not Within(0.9, False).excuse and not Within(1.0, True).excuse


def test_a_second_demo_must_be_told_to_overwrite(fairexp: Run, made: tuple[Path, Done]) -> None:
    assert "--overwrite" in fairexp("demo", "--fast", "--out", made[0], exit_code=2).stderr


def test_all_five_rankers_meet_the_same_seeds() -> None:
    runs = demo_runs(50, 3)
    assert [(run.ranker, run.seed) for run in runs] == [(name, seed) for name in RANKERS for seed in range(3)]
    assert len({(run.user, run.rounds, run.shares, run.data) for run in runs}) == 1
