from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fairexp.errors import ArgumentError
from fairexp.lab.experiments.conduct import Progress, conduct, make_overview
from fairexp.lab.experiments.paper.findings import rules
from fairexp.lab.experiments.paper.results import read_results
from fairexp.lab.experiments.report.page import page_html
from fairexp.lab.experiments.report.tables import summary_table
from fairexp.lab.experiments.run.local import LocalProcesses
from fairexp.lab.experiments.run.records import Records
from fairexp.lab.experiments.store import open_records_store
from fairexp.measures import AWRF, EE_L
from tests.lab.experiments.conftest import ROOT, one_ranker, small
from tests.waiting import until

OWN = "tests.lab.experiments.own_rankers"


def play(folder: Path, experiment: Any, processes: LocalProcesses, **options: Any) -> tuple[Records, list[str]]:
    """The records after conducting the experiment, and the runs that were played for it."""
    records = Records(open_records_store(folder))
    played: list[str] = []

    def watch(progress: Progress) -> None:
        if progress.last and progress.last not in played[-1:]:
            played.append(progress.last)

    conduct(experiment, records, processes, paths=(ROOT,), watch=watch, **options)
    return records, played


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("small")
    play(folder, small(), LocalProcesses(2))
    return folder


def test_measures_of_the_field_are_taken_where_asked_for(tmp_path: Path, processes: LocalProcesses) -> None:
    """They are another run's: its record without them keeps its name, and the page shows those that were asked for."""
    plain, asked = one_ranker("pdgd", seeds=1), one_ranker("pdgd", seeds=1, measures=["AWRF", "EE-L"])
    records, first = play(tmp_path, plain, processes)
    assert "AWRF" not in str(records.done()) and not read_results(records).of_the_field
    records, second = play(tmp_path, asked, processes)
    assert first == second and len(records.done()) == 2
    results = read_results(records)
    (run,) = results.main
    assert 0.0 < (run.value(AWRF) or 0.0) <= 1.0 and (run.value(EE_L) or 0.0) > 0.0
    page = page_html(results, [], [], {})
    assert "Fairness as the field measures it" in page and "<th>AWRF</th><th>EE-L</th>" in page
    assert {"AWRF", "EE-L low"} <= set(summary_table(results).headings)


def test_a_measure_that_is_none_of_the_field_is_refused() -> None:
    with pytest.raises(ArgumentError, match="measures"):
        one_ranker("pdgd", measures=["AWFR"])


def test_every_run_has_a_record(finished: Path) -> None:
    records = Records(open_records_store(finished))
    overview = records.overview()
    assert overview is not None
    assert {row["key"] for row in overview["runs"]} == records.done() and not records.failed()
    key = next(row["key"] for row in overview["runs"] if row["ranker"] == "fairexp-pairrank")
    record = records.read(key)
    assert record is not None
    assert record["result"]["rounds"] == 12 == record["points"]["round"][-1]
    assert record["result"]["validation nDCG@10"] is not None
    judged = sum(
        record["result"][f"rounds_{a}_{b}"] for a in ("beyond", "within") for b in ("qualified", "unqualified")
    )
    assert judged == 12
    assert "folder" not in record["settings"]["data"]


def test_nothing_is_played_twice_and_a_seed_more_is_all_that_is_new(finished: Path, processes: LocalProcesses) -> None:
    _, again = play(finished, small(), processes)
    assert again == []
    before = {path: path.stat().st_mtime_ns for path in (finished / "runs").rglob("*.json")}
    _, played = play(finished, small(seeds=3), processes)
    assert played and all(run.endswith("/seed-2") for run in played)
    assert {path: path.stat().st_mtime_ns for path in before} == before
    more = {**small().model_dump(), "rankers": {"random": {"ranker": "random"}}}
    _, played = play(finished, small(rankers={**more["rankers"]}, sweep=None), processes)
    assert played and all("/random/" in run for run in played)


def test_a_ranker_that_raises_is_refused_before_any_run(tmp_path: Path, processes: LocalProcesses) -> None:
    with pytest.raises(ArgumentError, match=r"rankers.own \(defaults\) on pagerank.*no idea how to rank this"):
        play(tmp_path, one_ranker(f"{OWN}:Raises"), processes)
    assert Records(open_records_store(tmp_path)).done() == set()


def test_a_parameter_that_is_not_known_is_refused_before_any_run(tmp_path: Path, processes: LocalProcesses) -> None:
    experiment = one_ranker("pdgd", rankers={"own": {"ranker": "pdgd", "grid": {"learning_rat": [0.1, 0.2]}}})
    with pytest.raises(ArgumentError, match=r"learning_rat.*decay"):
        play(tmp_path, experiment, processes)


def test_what_only_the_sweep_or_a_later_user_would_meet_is_refused_too(
    tmp_path: Path, processes: LocalProcesses
) -> None:
    sweep = {"ranker": "own", "parameter": "toleranze", "values": [1.0]}
    with pytest.raises(ArgumentError, match=r"rankers.own \(toleranze=1\).*toleranze"):
        play(tmp_path, one_ranker("fairexp-pairrank", sweep=sweep), processes)
    with pytest.raises(ArgumentError, match=r"navigational.*nobody"):
        play(tmp_path, one_ranker("random", users=["perfect", "nobody"]), processes)
    assert Records(open_records_store(tmp_path)).done() == set()


def test_a_ranker_that_is_added_later_is_tried_out_and_the_beginning_is_kept(
    tmp_path: Path, processes: LocalProcesses
) -> None:
    rankers: dict[str, Any] = {"pdgd": {"ranker": "pdgd", "grid": {"learning_rate": [0.1, 0.2]}}}
    records, _ = play(tmp_path, one_ranker("pdgd", rankers=rankers, seeds=1), processes)
    before = records.overview()
    assert before is not None and before["rules"] == rules()
    with pytest.raises(ArgumentError, match="no idea how to rank this"):
        play(tmp_path, one_ranker("pdgd", rankers={**rankers, "own": {"ranker": f"{OWN}:Raises"}}), processes)
    after = make_overview(small(), {}, "later", {**before, "started": "long ago", "rules": [], "notes": ["so"]})
    assert (after["started"], after["rules"], after["notes"], after["command"]) == ("long ago", [], ["so"], "later")


def test_a_failed_run_is_recorded_and_does_not_stop_the_rest(tmp_path: Path, processes: LocalProcesses) -> None:
    rankers = {
        "breaks": {"ranker": f"{OWN}:RaisesLater", "parameters": {"odd": True}},
        "works": {"ranker": f"{OWN}:RaisesLater", "parameters": {"odd": False}},
    }
    experiment = one_ranker("random", rankers=rankers)
    records, played = play(tmp_path, experiment, processes)
    assert len(played) == 4 and len(records.done()) == 2 and len(records.failed()) == 2
    failure = records.failure(next(iter(records.failed())))
    assert failure is not None and "lost the thread in round 3" in failure["error"]
    assert "own_rankers.py" in failure["trace"]
    assert play(tmp_path, experiment, processes)[1] == []
    assert len(play(tmp_path, experiment, processes, retry=True)[1]) == 2


def test_a_process_that_dies_costs_one_attempt(tmp_path: Path, processes: LocalProcesses) -> None:
    rankers = {
        "dies-once": {"ranker": f"{OWN}:DiesOnce", "parameters": {"mark": str(tmp_path / "mark")}},
        "random": {"ranker": "random"},
    }
    records, _ = play(tmp_path / "r", one_ranker("random", rankers=rankers, seeds=1), processes)
    assert (tmp_path / "mark").exists()
    assert len(records.done()) == 2 and not records.failed()


def test_a_run_that_always_kills_its_process_fails_alone(tmp_path: Path) -> None:
    rankers = {"dies": {"ranker": f"{OWN}:Dies"}, "random": {"ranker": "random"}}
    records, _ = play(tmp_path, one_ranker("random", rankers=rankers, seeds=1), LocalProcesses(1))
    assert len(records.done()) == 1
    failure = records.failure(next(iter(records.failed())))
    assert failure is not None and "died 2 times" in failure["error"]


def _is_alive(group: int) -> bool:
    """Whether any process of the group is there."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_killed_and_resumed(tmp_path: Path) -> None:
    """kill -9 in the middle: what was done is whole and stays, the rest is played on resuming."""
    file = tmp_path / "slow.yaml"
    rankers = {"waits": {"ranker": f"{OWN}:Waits", "parameters": {"folder": str(tmp_path / "r")}}}
    values = one_ranker("waits", rankers=rankers, rounds=25, seeds=8).model_dump(mode="json", exclude_none=True)
    file.write_text(json.dumps(values))
    command = [sys.executable, "-c", "from fairexp.cli import main; main()", "experiment"]
    place = ["--out", str(tmp_path / "r"), "--jobs", "2"]
    quiet = subprocess.DEVNULL
    running = subprocess.Popen([*command, "run", str(file), *place], cwd=ROOT, stderr=quiet, start_new_session=True)
    records = Records(open_records_store(tmp_path / "r"))
    until(lambda: len(records.done()) >= 2)
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    until(lambda: not _is_alive(running.pid), "workers do not see the end of their parent")
    done = {path: path.stat().st_mtime_ns for path in (tmp_path / "r" / "runs").rglob("*.json")}
    assert 2 <= len(done) <= 4
    assert all(json.loads(path.read_text())["result"]["rounds"] == 25 for path in done)
    (tmp_path / "r" / "go").touch()
    subprocess.run([*command, "resume", str(file), *place], cwd=ROOT, check=True, capture_output=True)
    assert len(records.done()) == 8
    assert {path: path.stat().st_mtime_ns for path in done} == done
