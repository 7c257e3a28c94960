"""The process that speaks to Ray: it hands each run to a node, and runs of nodes that die or are wrong to others."""

from __future__ import annotations

import os
import socket
import time
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from importlib import import_module
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from fairexp.errors import ArgumentError, ClusterLostError, DataError
from fairexp.lab.data import WORLDS
from fairexp.lab.experiments.plan.prepared import fingerprint
from fairexp.lab.experiments.plan.run import user_digest
from fairexp.lab.experiments.run.task import Outcome, Task
from fairexp.lab.simulation.pool.processes import SINGLE_THREADS
from fairexp.lab.simulation.settings import DataSettings, Parts, loaded_parts

ATTEMPTS = 4
"""How often a run may lose its worker or node before it counts as failed."""
TICK_SECONDS = 1.0
"""How often nodes are looked at, and a sign of life is sent."""
REACH_SECONDS = 1.5
"""How long the head may take to accept a connection."""
MISSES = 3
"""How often in a row the head may fail to before it counts as dead."""
LAST_LOOKS = 3
"""Problems of nodes that are named where none is left."""

STARTED, READY, JOBS, TELL, OUTCOME, ENDED, ERROR, ALIVE = (
    "started", "ready", "jobs", "tell", "outcome", "ended", "error", "alive",
)  # fmt: skip
"""What messages to the other process begin with."""
STOP = "stop"

Say = Callable[[str, Any], None]


class Node(NamedTuple):
    """A machine of the cluster, and how many runs it plays at once."""

    id: str
    name: str
    cores: int


class NodeProblem(NamedTuple):
    """What comes back from a node that cannot play a run as others would."""

    text: str


class StopError(Exception):
    """The other process wants no more."""


def drive(address: str | None, pipe: Connection) -> None:
    """Connect to the cluster, then play the lists of tasks that come through `pipe`, until it is closed."""
    for stream in (1, 2):  # Ray writes to both whatever it is told
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)

    def say(kind: str, content: Any = None) -> None:
        pipe.send((kind, content))

    try:
        ray = _connected(address, say)
        driver = Driver(ray, say=say, stopped=lambda seconds: pipe.poll(seconds), reach=_reach(ray))
        say(READY, driver.jobs)
        while (message := pipe.recv()) != STOP:
            tasks, work = message
            for result in driver.run(tasks, work):
                say(OUTCOME, result)
            say(ENDED)
    except (EOFError, OSError, StopError):
        pass  # the other process is gone, or wants no more
    except (ArgumentError, ClusterLostError) as error:
        say(ERROR, error)
        os._exit(1)  # Ray's own end would wait a minute for its head
    except Exception:
        say(ERROR, RuntimeError(traceback.format_exc()))
    pipe.close()


def _connected(address: str | None, say: Say) -> Any:
    host, _, port = (address or "").removeprefix("ray://").rpartition(":")
    if port.isdigit() and not _answers(host, int(port)):
        expected = "the address of a running Ray cluster, such as 10.0.0.1:6379 or auto"
        raise ArgumentError("--on", f"ray={address}, where nothing answers", expected)
    ray: Any = import_module("ray")
    say(STARTED, None)
    try:
        ray.init(address=address, log_to_driver=False, include_dashboard=False if address is None else None)
    except (ConnectionError, ValueError, RuntimeError) as error:
        expected = "the address of a running Ray cluster, such as 10.0.0.1:6379 or auto"
        raise ArgumentError("--on", f"ray={address}", expected, " ".join(str(error).split())) from None
    return ray


def _reach(ray: Any) -> Callable[[], bool]:
    """Whether the cluster's head takes connections."""
    host, _, port = str(ray.get_runtime_context().gcs_address).rpartition(":")
    return lambda: _answers(host, int(port))


def _answers(host: str, port: int) -> bool:
    try:
        socket.create_connection((host.strip("[]"), port), timeout=REACH_SECONDS).close()
    except OSError:
        return False
    return True


class Driver:
    """Hands tasks to the nodes of a cluster, as many to each as it has cores.

    `say` sends a message, `stopped` says whether one came (waiting so many seconds at most), and `reach` whether the
    head can be reached. Nodes may come and go. One that has a problem is told and left out, one that dies is told; what
    they were at is played elsewhere.
    """

    def __init__(
        self, ray: Any, *, say: Say, stopped: Callable[[float], bool], reach: Callable[[], bool],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self._ray, self._say, self._stopped, self._reach, self._clock = ray, say, stopped, reach, clock
        self._nodes: dict[str, Node] = {}
        self._problems: dict[str, str] = {}
        self._suspects: set[str] = set()
        self._next_look = 0.0
        self._misses = 0
        self._is_waiting = False
        self.jobs = 1
        self._look()

    def run(self, tasks: Sequence[Task], work: Callable[..., Any]) -> Iterator[Any]:
        """What `work` returns for each task, in the order in which they come to an end."""
        options = {"num_cpus": 1, "max_retries": 0, "runtime_env": {"env_vars": SINGLE_THREADS}}
        remote = self._ray.remote(**options)(play_there)
        waiting, deaths = deque(tasks), Counter[str]()
        running: dict[Any, tuple[Task, Node]] = {}
        try:
            while waiting or running:
                self._tick(0.0 if running else TICK_SECONDS)
                self._hand_out(remote, work, waiting, running)
                done: list[Any] = []
                if running:
                    done, _ = self._ray.wait(list(running), num_returns=1, timeout=TICK_SECONDS)
                for reference in done:
                    task, node = running.pop(reference)
                    result = self._result(reference, node)
                    if isinstance(result, NodeProblem):
                        self._leave_out(node, result)
                        waiting.appendleft(task)
                    elif result is not None:
                        yield result
                    elif (deaths.update([task.key]) or deaths[task.key]) < ATTEMPTS:
                        waiting.appendleft(task)
                    else:
                        problem = f"its worker or node died {ATTEMPTS} times (out of memory, or killed)"
                        yield Outcome(task.key, error=problem, trace=problem)
        finally:
            if not self._misses:
                for reference in running:
                    self._ray.cancel(reference, force=True)

    def _hand_out(self, remote: Any, work: Any, waiting: deque[Task], running: dict[Any, tuple[Task, Node]]) -> None:
        busy = Counter(node.id for _, node in running.values())
        for node in self._taking_part():
            while waiting and node.id not in self._suspects and busy[node.id] < node.cores:
                task = waiting.popleft()
                there = remote.options(scheduling_strategy=self._only_on(node))
                running[there.remote(task, work)] = task, node
                busy[node.id] += 1

    def _only_on(self, node: Node) -> Any:
        return self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node.id, soft=False)

    def _result(self, reference: Any, node: Node) -> Any:
        """What came of a task; None where its worker or node died."""
        try:
            return self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:  # not of a run, whose errors are outcomes
            return NodeProblem(str(error).strip().splitlines()[-1])
        except self._ray.exceptions.RayError:
            self._suspects.add(node.id)  # until nodes are looked at again
            return None

    def _tick(self, seconds: float) -> None:
        """Wait `seconds` at most; every `TICK_SECONDS` look at the cluster and send a sign of life."""
        if self._stopped(seconds):
            raise StopError
        if self._clock() < self._next_look:
            return
        self._say(ALIVE, None)
        self._misses = 0 if self._reach() else self._misses + 1
        if self._misses >= MISSES:
            raise ClusterLostError(None)
        if not self._misses:
            self._look()
        self._next_look = self._clock() + TICK_SECONDS

    def _look(self) -> None:
        """See which nodes there are; tell of those that died, and where none is left."""
        rows = [row for row in self._ray.nodes() if row["Alive"] and int(row["Resources"].get("CPU", 0)) > 0]
        before, self._nodes = self._nodes, {row["NodeID"]: _node(row) for row in rows}
        self._suspects.clear()
        for gone in before.keys() - self._nodes.keys() - self._problems.keys():
            self._say(TELL, f"node {before[gone].name} died: its runs go to others")
        self._count()

    def _leave_out(self, node: Node, problem: NodeProblem) -> None:
        if node.id not in self._problems:
            self._problems[node.id] = f"{node.name}: {problem.text}"
            self._say(TELL, f"left out node {self._problems[node.id]}")
        self._count()

    def _count(self) -> None:
        """Say how many runs go on at once; end where every node has a problem."""
        left = self._taking_part()
        if self._nodes and not left:
            told = "; ".join(list(self._problems.values())[-LAST_LOOKS:])
            raise ArgumentError("--on", f"nodes that all have a problem ({told})", "a node that can play the runs")
        if not left and not self._is_waiting:
            self._say(TELL, "no node is left: waiting for one to join")
        self._is_waiting = not left
        jobs = max(sum(node.cores for node in left), 1)
        if jobs != self.jobs:
            self._say(JOBS, jobs)
        self.jobs = jobs

    def _taking_part(self) -> list[Node]:
        return [node for node in self._nodes.values() if node.id not in self._problems]


def _node(row: dict[str, Any]) -> Node:
    name = f"{row['NodeManagerHostname']} ({row['NodeManagerAddress']}, {row['NodeID'][:8]})"
    return Node(row["NodeID"], name, int(row["Resources"]["CPU"]))


def play_there(task: Task, work: Callable[..., Any]) -> Any:
    """On a node: what `work` makes of the task on data that are what they should be, or the node's problem."""
    try:
        data = _checked_parts(task.settings.data, task.settings.validate, task.fingerprint)
        if user_digest(task.settings.user) != task.user_digest:
            raise DataError(task.settings.user, "is not the user that the experiment was started with")
    except Exception as error:  # whatever it is, the run is not to blame
        return NodeProblem(f"{type(error).__name__}: {error}")
    return work(task, data=data)


@lru_cache(maxsize=4)
def _checked_parts(data: DataSettings, validation: bool, expected: str) -> Parts:
    """The parts of the data, where their contents are those that runs are named after; once for each process."""
    parts = loaded_parts(data, validation)
    found = fingerprint(*parts)
    if found != expected:
        place, why = data.folder or data.source, ""
        if data.source in WORLDS:
            why = "; set OPENBLAS_NUM_THREADS=1 there, and use the same numpy and the same kind of processors"
        raise DataError(place, f"other contents than where the experiment was started{why}")
    return parts
