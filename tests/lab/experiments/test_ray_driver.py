"""The driver of a cluster against one that is made up: nodes with problems, nodes that die, nodes that join."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fairexp.errors import ArgumentError, ClusterLostError
from fairexp.lab.experiments.plan.prepared import prepare
from fairexp.lab.experiments.plan.run_list import final_runs, places
from fairexp.lab.experiments.run.ray_driver import ATTEMPTS, MISSES, Driver, NodeProblem, StopError, play_there
from fairexp.lab.experiments.run.task import Outcome, Task
from fairexp.lab.simulation.settings import RunSettings, loaded_parts
from tests.lab.experiments.conftest import letor_set, one_ranker


class RayError(Exception):
    """A worker or node died."""


class RayTaskError(RayError):
    """What was called raised."""


@dataclass
class MadeUpRay:
    """As much of Ray as the driver uses. Each wait is a moment: `events` change the cluster, then one task ends."""

    cores: dict[str, int]
    events: dict[int, Callable[[MadeUpRay], None]] = field(default_factory=dict)
    dead: set[str] = field(default_factory=set)
    fates: dict[str, Callable[[Any], Any]] = field(default_factory=dict)
    played: list[tuple[str, str]] = field(default_factory=list)
    most: dict[str, int] = field(default_factory=dict)
    running: dict[int, tuple[str, Any]] = field(default_factory=dict)
    ended: dict[int, tuple[str, Any]] = field(default_factory=dict)
    now: int = 0
    cancelled: int = 0

    def __post_init__(self) -> None:
        self.exceptions = SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError)
        affinity = SimpleNamespace(NodeAffinitySchedulingStrategy=lambda node, soft: node)
        self.util = SimpleNamespace(scheduling_strategies=affinity)

    def nodes(self) -> list[dict[str, Any]]:
        names = {"NodeManagerHostname": "host", "NodeManagerAddress": "10.0.0.1"}
        return [
            {"NodeID": name, "Alive": name not in self.dead, "Resources": {"CPU": float(n)} if n else {}, **names}
            for name, n in self.cores.items()
        ]

    def remote(self, **_: Any) -> Callable[[Any], Any]:
        return lambda function: SimpleNamespace(options=lambda scheduling_strategy: self._on(scheduling_strategy))

    def _on(self, node: str) -> Any:
        def remote(task: Any, work: Any) -> int:
            number = len(self.played)
            self.played.append((node, task.key))
            self.running[number] = (node, task)
            self.most[node] = max(self.most.get(node, 0), sum(one == node for one, _ in self.running.values()))
            return number

        return SimpleNamespace(remote=remote)

    def tick(self) -> None:
        self.now += 1
        self.events.get(self.now, lambda ray: None)(self)

    def wait(self, references: list[int], *, num_returns: int, timeout: float) -> tuple[list[int], list[int]]:
        self.tick()
        first = references[0]
        self.ended[first] = self.running.pop(first)
        return [first], references[1:]

    def get(self, reference: int) -> Any:
        node, task = self.ended[reference]
        if node in self.dead:
            raise RayError
        return self.fates.get(node, lambda task: Outcome(task.key, record={"node": node}))(task)

    def cancel(self, reference: int, *, force: bool) -> None:
        self.cancelled += 1


def tasks(n: int) -> list[Task]:
    return [Task(f"run@{number}", RunSettings(), (), "", "") for number in range(n)]


def played(ray: MadeUpRay, n: int, *, reached: Callable[[], bool] = lambda: True) -> tuple[list[Outcome], list[str]]:
    """What the driver makes of `n` tasks, and what it told; it looks at the cluster at every moment."""
    told: list[str] = []
    clock = iter(range(10**6))

    def stopped(seconds: float) -> bool:
        if seconds:  # nothing runs: time passes here
            ray.tick()
        return False

    driver = Driver(
        ray,
        say=lambda kind, content: told.append(content) if kind == "tell" else None,
        stopped=stopped,
        reach=reached,
        clock=lambda: float(next(clock)),
    )
    return list(driver.run(tasks(n), lambda task: None)), told


def keys(outcomes: list[Outcome]) -> set[str]:
    return {one.key for one in outcomes if one.record is not None}


ALL = {f"run@{number}" for number in range(24)}


def test_each_run_is_played_once_and_each_node_has_as_many_as_it_has_cores() -> None:
    ray = MadeUpRay({"head": 0, "a": 1, "b": 3})
    outcomes, told = played(ray, 24)
    assert keys(outcomes) == ALL and len(outcomes) == len(ray.played) == 24 and not told
    assert ray.most == {"a": 1, "b": 3}


def test_a_node_with_a_problem_that_joins_late_costs_no_run() -> None:
    def join(ray: MadeUpRay) -> None:
        ray.cores["late"] = 4

    ray = MadeUpRay({"a": 2}, events={5: join}, fates={"late": lambda task: NodeProblem("no such folder")})
    outcomes, told = played(ray, 24)
    assert keys(outcomes) == ALL and len(outcomes) == 24
    assert told == ["left out node host (10.0.0.1, late): no such folder"]
    assert sum(node == "late" for node, _ in ray.played) <= 4


def test_what_raises_outside_of_a_run_is_the_problem_of_its_node() -> None:
    def missing(task: Any) -> Any:
        raise RayTaskError("Traceback\nModuleNotFoundError: No module named 'fairexp'")

    outcomes, told = played(MadeUpRay({"a": 1, "bare": 1}, fates={"bare": missing}), 24)
    assert keys(outcomes) == ALL
    assert told == ["left out node host (10.0.0.1, bare): ModuleNotFoundError: No module named 'fairexp'"]


def test_a_node_that_dies_is_told_and_one_that_joins_takes_part() -> None:
    def die(ray: MadeUpRay) -> None:
        ray.dead.add("a")

    def join(ray: MadeUpRay) -> None:
        ray.cores["new"] = 2

    ray = MadeUpRay({"a": 2}, events={5: die, 20: join})
    outcomes, told = played(ray, 24)
    assert keys(outcomes) == ALL and len(outcomes) == 24
    assert told == ["node host (10.0.0.1, a) died: its runs go to others", "no node is left: waiting for one to join"]
    assert any(node == "new" for node, _ in ray.played)


def test_where_every_node_has_a_problem_it_ends_and_says_which() -> None:
    fates = {name: lambda task, name=name: NodeProblem(f"not on {name}") for name in "ab"}
    with pytest.raises(ArgumentError, match=r"--on: expected a node that can play .* not on a; .* not on b"):
        played(MadeUpRay({"a": 1, "b": 1}, fates=fates), 24)


def test_a_run_that_always_takes_its_worker_with_it_fails_alone() -> None:
    def die(task: Task) -> Outcome:
        if task.key == "run@3":
            raise RayError
        return Outcome(task.key, record={})

    ray = MadeUpRay({"a": 2}, fates={"a": die})
    outcomes, told = played(ray, 24)
    (failed,) = (one for one in outcomes if one.record is None)
    assert failed.key == "run@3" and failed.error is not None and f"died {ATTEMPTS} times" in failed.error
    assert len(outcomes) == 24 and sum(key == "run@3" for _, key in ray.played) == ATTEMPTS and not told


def test_a_head_that_cannot_be_reached_some_times_in_a_row_is_dead() -> None:
    ray, reached = MadeUpRay({"a": 1}), iter([True, False, True, *[False] * MISSES])
    with pytest.raises(ClusterLostError):
        played(ray, 24, reached=lambda: next(reached))
    assert next(reached, "all used") == "all used" and not ray.cancelled  # nobody is there to hear it


def test_who_wants_no_more_is_heard_and_what_runs_is_cancelled() -> None:
    ray, asked = MadeUpRay({"a": 3}), iter([False, False, True])
    driver = Driver(ray, say=lambda *_: None, stopped=lambda _: next(asked), reach=lambda: True)
    with pytest.raises(StopError):
        list(driver.run(tasks(24), lambda task: None))
    assert ray.cancelled == 2 and len(ray.ended) == 2


def test_a_worker_plays_on_the_data_and_the_user_of_the_experiment_alone(tmp_path: Path) -> None:
    folder = letor_set(tmp_path / "set", 1)
    data = {"mine": {"source": "letor", "folder": str(folder), "group": "2:0.5"}}
    experiment = one_ranker("random", data=data, seeds=1)
    (run, *_) = final_runs(experiment, prepare(experiment), {place: {} for place in places(experiment)})
    task = Task.of(run, ())
    loads = []

    def work(task: Task, *, data: Any) -> Any:
        loads.append(data)
        return "played"

    assert play_there(task, work) == "played" == play_there(task, work)
    assert loads[0] is loads[1]  # loaded and checked once
    other = play_there(replace(task, user_digest="0"), work)
    assert isinstance(other, NodeProblem) and "is not the user" in other.text
    loaded_parts.cache_clear()
    letor_set(folder, 1, n_documents=9)
    moved = replace(task, settings=replace(task.settings, data=replace(task.settings.data, seed=1)))  # not cached
    found = play_there(moved, work)
    assert isinstance(found, NodeProblem) and str(folder) in found.text and "other contents" in found.text
    for file in (folder / "Fold1").iterdir():
        file.unlink()
    gone = replace(task, settings=replace(task.settings, data=replace(task.settings.data, seed=2)))
    assert isinstance(play_there(gone, work), NodeProblem)
    assert len(loads) == 2
