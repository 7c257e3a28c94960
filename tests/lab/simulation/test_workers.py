"""Worker processes: what they return, how they end, and what they start with."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fairexp.lab.simulation.pool import processes
from fairexp.lab.simulation.pool.shared_data import SharedData
from fairexp.lab.simulation.pool.workers import ProcessDiedError, Workers
from tests.lab.simulation import works
from tests.lab.simulation.works import SMALL, Task
from tests.waiting import SECONDS

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def workers() -> Workers:
    return Workers(2)


def test_every_task_is_played_once_and_reports_come_before_results(workers: Workers) -> None:
    heard: list[int] = []
    results = {}
    for number, result in workers.play([Task(i) for i in range(9)], works.square, shared={}, hear=heard.append):
        assert number in heard
        results[number] = result
    assert results == {i: i * i for i in range(9)}
    assert sorted(heard) == list(range(9))


def test_an_exception_is_a_result_that_shows_where_it_was_raised(workers: Workers) -> None:
    ((_, error),) = workers.play([Task(-3)], works.square, shared={})
    assert isinstance(error, ArithmeticError) and "-3 is below 0" in str(error)
    assert "works.py" in str(error.__cause__)


def test_workers_map_the_data_that_their_tasks_name(workers: Workers) -> None:
    with SharedData() as data:
        results = dict(workers.play([Task(0), Task(1)], works.maps_features, shared=data.of([SMALL])))
    assert results == {0: True, 1: True}


def test_a_death_costs_an_attempt(workers: Workers, tmp_path: Path) -> None:
    task = Task(0, mark=str(tmp_path / "mark"))
    assert dict(workers.play([task], works.die, shared={}, attempts=2)) == {0: "survived"}


@pytest.mark.parametrize(("attempts", "times"), [(1, "died once"), (2, "died 2 times")])
def test_a_task_that_kills_its_process_is_given_up(workers: Workers, attempts: int, times: str) -> None:
    ((_, error),) = workers.play([Task(0)], works.die, shared={}, attempts=attempts)
    assert isinstance(error, ProcessDiedError)
    assert times in error.problem and str(error).startswith("random/perfect/seed-0: ")


def test_stopping_tells_those_under_way_and_starts_no_more(workers: Workers) -> None:
    def interrupt(_: str) -> None:
        raise KeyboardInterrupt

    tasks = [Task(i) for i in range(5)]
    results = dict(workers.play(tasks, works.until_stopped, shared={}, hear=interrupt))
    assert 1 <= len(results) <= 2 and set(results.values()) == {"stopped"}


def test_without_anybody_to_hear_an_interrupt_ends_all_at_once(workers: Workers) -> None:
    timer = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 1.0)
    try:
        with pytest.raises(KeyboardInterrupt):
            list(workers.play([Task(0), Task(1)], works.until_stopped, shared={}))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, timer)


def test_workers_take_one_thread_each(workers: Workers) -> None:
    assert dict(workers.play([Task(0)], works.threads_of_blas, shared={})) == {0: "1"}


@pytest.mark.skipif(sys.platform != "linux", reason="how glibc returns memory")
def test_temporary_matrices_do_not_cost_new_pages_every_time(workers: Workers) -> None:
    ((_, n_faults),) = workers.play([Task(0)], works.page_faults, shared={})
    assert n_faults < 1000  # 128 pages for each of 100 matrices else


def test_variables_are_set_inside_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIREXP_A", "before")
    monkeypatch.delenv("FAIREXP_B", raising=False)
    with processes.environment({"FAIREXP_A": "inside", "FAIREXP_B": "inside"}):
        assert (os.environ["FAIREXP_A"], os.environ["FAIREXP_B"]) == ("inside", "inside")
    assert os.environ["FAIREXP_A"] == "before" and "FAIREXP_B" not in os.environ


CODE = """
import os, signal, sys, time
from fairexp.lab.simulation.pool.workers import Workers, _Pool
from tests.lab.simulation import works
if __name__ == "__main__":
    workers = Workers(2)
    {then}
"""


def started(then: str) -> subprocess.Popen[str]:
    """A process with its own group that makes workers, and `then` does something else."""
    command = [sys.executable, "-c", CODE.format(then=then)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, cwd=ROOT, start_new_session=True)


@pytest.mark.skipif(os.name != "posix", reason="process groups are POSIX")
def test_an_interrupt_while_workers_start_shows_no_second_traceback() -> None:
    then = """hand_out = _Pool.hand_out
    _Pool.hand_out = lambda *order: (hand_out(*order), print("starting", flush=True))
    list(workers.play([works.Task(0)] * 2, works.until_stopped, shared={}))"""
    process = started(then)
    assert process.stdout is not None and process.stdout.readline() == "starting\n"
    os.killpg(process.pid, signal.SIGINT)
    _, stderr = process.communicate(timeout=SECONDS)  # returns when the workers, too, have closed their output
    assert stderr.count("Traceback") == 1


@pytest.mark.skipif(os.name != "posix", reason="processes are asked about by a signal")
def test_workers_end_when_this_process_is_killed() -> None:
    then = "for _ in workers.play([works.Task(0)] * 2, works.until_stopped, shared={}, hear=works.echo): pass"
    process = started(then)
    assert process.stdout is not None
    assert process.stdout.readline() == "under way\n"
    process.kill()
    process.communicate(timeout=SECONDS / 2)  # the workers held its output open, and would for SECONDS
    assert process.returncode == -signal.SIGKILL
