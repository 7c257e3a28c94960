"""The same runs on a Ray cluster of two nodes on this machine, with nodes that die, join late, or hold other data."""

from __future__ import annotations

import socket
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ray = pytest.importorskip("ray")

from fairexp.errors import ArgumentError, ClusterLostError  # noqa: E402
from fairexp.lab.experiments.conduct import Progress, conduct  # noqa: E402
from fairexp.lab.experiments.run.executors import open_executor  # noqa: E402
from fairexp.lab.experiments.run.local import LocalProcesses  # noqa: E402
from fairexp.lab.experiments.run.records import Records  # noqa: E402
from fairexp.lab.experiments.store import open_records_store  # noqa: E402
from tests.lab.experiments.conftest import ROOT, letor_set, one_ranker, small  # noqa: E402
from tests.waiting import SECONDS  # noqa: E402

pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("default")]


def started_cluster() -> Any:
    from ray.cluster_utils import Cluster

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
        nodes.add_node(num_cpus=1)
        nodes.wait_for_nodes(timeout=SECONDS)
    return nodes


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    nodes = started_cluster()
    yield nodes
    nodes.shutdown()


def results_of(records: Records) -> dict[str, Any]:
    """What does not depend on the machine's speed, by key."""
    found = {key: records.read(key) for key in records.done()}
    return {
        key: {part: record[part] for part in ("result", "points", "settings")}
        for key, record in found.items()
        if record
    }


def test_bit_for_bit_the_same_as_local(cluster: Any, tmp_path: Path) -> None:
    experiment = small(rounds=8, users=["navigational"], exposure_sessions=200)
    here, there = (Records(open_records_store(tmp_path / name)) for name in ("local", "ray"))
    conduct(experiment, here, LocalProcesses(2), paths=(ROOT,))
    executor = open_executor(f"ray={cluster.address}")
    assert executor.jobs == 2
    conduct(experiment, there, executor, paths=(ROOT,))
    assert len(results_of(here)) > 10
    assert results_of(here) == results_of(there)


def test_a_worker_that_is_killed_costs_nothing(cluster: Any, tmp_path: Path) -> None:
    rankers = {
        "dies-once": {
            "ranker": "tests.lab.experiments.own_rankers:DiesOnce",
            "parameters": {"mark": str(tmp_path / "mark")},
        },
        "random": {"ranker": "random"},
    }
    records = Records(open_records_store(tmp_path / "r"))
    conduct(
        one_ranker("random", rankers=rankers, seeds=1), records, open_executor(f"ray={cluster.address}"), paths=(ROOT,)
    )
    assert (tmp_path / "mark").exists()
    assert len(records.done()) == 2 and not records.failed()


def test_nodes_with_other_data_or_none_at_the_same_path_are_named_and_left_out(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A path through each process's own working directory is the same on all nodes, and what lies there is not."""
    right, wrong = tmp_path / "right", tmp_path / "wrong"
    letor_set(right / "set", 1)
    letor_set(wrong / "set", 1, n_documents=9)
    added = []
    for place in (wrong, right):
        monkeypatch.chdir(place)
        added.append(cluster.add_node(num_cpus=1))
    data = {"mine": {"source": "letor", "folder": "/proc/self/cwd/set", "group": "2:0.5"}}
    experiment = one_ranker("random", data=data, seeds=8)
    here, there = (Records(open_records_store(tmp_path / name)) for name in ("local", "ray"))
    conduct(experiment, here, LocalProcesses(1), paths=(ROOT,))
    told: list[str] = []
    executor = open_executor(f"ray={cluster.address}", tell=told.append)
    assert executor.jobs == 4
    conduct(experiment, there, executor, paths=(ROOT,))
    for node in added:
        cluster.remove_node(node)
    assert len(here.done()) == 8 and not there.failed() and results_of(there) == results_of(here)
    assert executor.jobs == 1 and len(told) == 3 and all(line.startswith("left out node") for line in told)
    assert sum("other contents" in line for line in told) == 1


def waiting_runs(folder: Path) -> Any:
    """Runs that wait, once two of them have records in `folder`, until a file there says go."""
    rankers = {"waits": {"ranker": "tests.lab.experiments.own_rankers:Waits", "parameters": {"folder": str(folder)}}}
    return one_ranker("random", rankers=rankers, seeds=6)


def test_a_node_that_dies_is_told_and_its_runs_go_to_others(cluster: Any, tmp_path: Path) -> None:
    records, told = Records(open_records_store(tmp_path)), list[str]()
    doomed = cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes(timeout=SECONDS)

    def tell(line: str) -> None:
        told.append(line)
        (tmp_path / "go").touch()

    def watch(progress: Progress) -> None:
        if progress.done == 2:
            cluster.remove_node(doomed, allow_graceful=False)

    executor = open_executor(f"ray={cluster.address}", tell=tell)
    conduct(waiting_runs(tmp_path), records, executor, paths=(ROOT,), watch=watch)
    assert len(told) == 1 and "died: its runs go to others" in told[0]
    assert len(records.done()) == 6 and not records.failed()


def test_a_head_that_dies_ends_it_in_our_words_and_the_records_are_kept(tmp_path: Path) -> None:
    records, nodes = Records(open_records_store(tmp_path)), started_cluster()

    def watch(progress: Progress) -> None:
        if progress.done == 2:
            for process in (each.process for many in nodes.head_node.all_processes.values() for each in many):
                process.kill()

    executor = open_executor(f"ray={nodes.address}")
    with pytest.raises(
        ClusterLostError, match=f"the Ray cluster at {nodes.address} no longer answers. Runs that ended"
    ):
        conduct(waiting_runs(tmp_path), records, executor, paths=(ROOT,), watch=watch)
    assert len(records.done()) >= 2
    (tmp_path / "go").touch()
    conduct(waiting_runs(tmp_path), records, LocalProcesses(2), paths=(ROOT,))
    assert len(records.done()) == 6 and not records.failed()


@pytest.mark.parametrize("address", ["127.0.0.1:1", "nowhere.invalid:6379", "nonsense"])
def test_an_address_where_there_is_no_cluster_is_refused(address: str) -> None:
    with pytest.raises(ArgumentError, match="--on: expected the address of a running Ray cluster") as refusal:
        open_executor(f"ray={address}")
    assert address in str(refusal.value) and "Traceback" not in str(refusal.value)


def test_a_port_that_something_else_answers_is_refused() -> None:
    """Ray would wait for two minutes and end the process."""
    with socket.create_server(("127.0.0.1", 0)) as mute:
        address = f"127.0.0.1:{mute.getsockname()[1]}"
        with pytest.raises(ArgumentError, match="where no Ray cluster answers"):
            open_executor(f"ray={address}")
