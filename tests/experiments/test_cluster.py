"""The same runs on a Ray cluster of two nodes on this machine."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ray = pytest.importorskip("ray")

from fairexp.experiments.conduct import conduct  # noqa: E402
from fairexp.experiments.run.executors import open_executor  # noqa: E402
from fairexp.experiments.run.local import LocalProcesses  # noqa: E402
from fairexp.experiments.run.records import Records  # noqa: E402
from fairexp.experiments.store import open_records_store  # noqa: E402
from tests.experiments.conftest import ROOT, one_ranker, small  # noqa: E402
from tests.waiting import SECONDS  # noqa: E402

pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("default")]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    from ray.cluster_utils import Cluster

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
        nodes.add_node(num_cpus=1)
        nodes.wait_for_nodes(timeout=SECONDS)
        yield nodes
        ray.shutdown()
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
            "ranker": "tests.experiments.own_rankers:DiesOnce",
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
