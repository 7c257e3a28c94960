from __future__ import annotations

from collections.abc import Callable

from typer.testing import Result

from fairexp.lab.simulation import ranker_names

Run = Callable[..., Result]


def test_every_ranker_is_listed_with_summary_and_defaults(fairexp: Run) -> None:
    output = fairexp("rankers").stdout
    first_words = [line.split()[0] for line in output.splitlines() if line and not line.startswith(" ")]
    assert first_words == ["ranker", *ranker_names()]
    assert "learning_rate=0.1" in output and "tolerance=0.1" in output


def test_details_tell_the_parameters_of_fairexp_and_host(fairexp: Run) -> None:
    output = fairexp("rankers", "fairexp-pairrank").stdout
    for word in ("tolerance", "within_block", "--set alpha=...", "--length", "Jia", "PairRank: "):
        assert word in output
    assert ">>>" not in output


def test_a_ranker_of_ones_own_is_described_by_its_import_path(fairexp: Run) -> None:
    assert "PDGD: A linear ranker" in fairexp("rankers", "fairexp.rankers.pdgd.ranker:PDGD").stdout


def test_a_host_without_a_belief_is_refused(fairexp: Run) -> None:
    assert "explicit belief" in fairexp("rankers", "fairexp-dbgd", exit_code=2).stderr
