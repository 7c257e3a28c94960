"""Runs on a Ray cluster: the same tasks, the same records."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any

from fairexp.errors import ArgumentError, MissingExtraError
from fairexp.experiments.run.task import Outcome, perform

RETRIES = 3
"""How often Ray plays a run again whose worker or machine died."""
_ENVIRONMENT = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class RayCluster:
    """Carries tasks out on the cluster at `address`, or on one of this machine's own where that is None.

    The data's folder must be at the same path on every machine; worlds need none. Records travel back to this process,
    which keeps them.
    """

    def __init__(self, address: str | None = None) -> None:
        try:
            self._ray: Any = import_module("ray")
        except ImportError as error:
            raise MissingExtraError("--on ray: Ray is not installed; run: pip install 'fairexp[ray]'") from error
        if not self._ray.is_initialized():
            try:
                self._ray.init(
                    address=address, log_to_driver=False, include_dashboard=False if address is None else None
                )
            except (ConnectionError, ValueError, RuntimeError) as error:
                expected = "the address of a running Ray cluster, such as 10.0.0.1:6379 or auto"
                raise ArgumentError("--on", f"ray={address}", expected, " ".join(str(error).split())) from error

    @property
    def jobs(self) -> int:
        """How many runs the cluster plays at once: one for each of its cores."""
        return max(int(self._ray.cluster_resources().get("CPU", 1)), 1)

    def run(self, tasks: Sequence[Any], *, work: Callable[[Any], Any] = perform) -> Iterator[Any]:
        """What `work` returns for each task, in the order in which they come to an end."""
        options = {"num_cpus": 1, "max_retries": RETRIES, "runtime_env": {"env_vars": _ENVIRONMENT}}
        remote = self._ray.remote(**options)(work)
        waiting = deque(tasks)
        running: dict[Any, Any] = {}
        try:
            while waiting or running:
                while waiting and len(running) < 2 * self.jobs:  # a few in store, so that no core waits for us
                    task = waiting.popleft()
                    running[remote.remote(task)] = task
                done, _ = self._ray.wait(list(running), num_returns=1)
                for reference in done:
                    yield self._fetched(reference, running.pop(reference))
        finally:
            for reference in running:
                self._ray.cancel(reference, force=True)

    def _fetched(self, reference: Any, task: Any) -> Any:
        try:
            return self._ray.get(reference)
        except self._ray.exceptions.RayError as error:
            return Outcome(
                task.key, error=f"{type(error).__name__}: its workers died {RETRIES + 1} times", trace=str(error)
            )
