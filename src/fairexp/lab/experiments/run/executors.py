"""Where runs are carried out, by the text that `--on` takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from fairexp.errors import ArgumentError


class Executor(Protocol):
    """Plays tasks, `jobs` of them at once."""

    @property
    def jobs(self) -> int: ...

    def run(self, tasks: Sequence[Any], *, work: Callable[[Any], Any] = ...) -> Iterator[Any]:
        """What `work` returns for each task, in the order in which they come to an end."""


def open_executor(
    on: str = "local", *, jobs: int | None = None, tell: Callable[[str], object] = lambda line: None
) -> Executor:
    """The executor for "local", "ray" (a cluster of this machine's own) or "ray=ADDRESS".

    `tell` hears of nodes that die or are left out.
    """
    kind, separator, address = on.partition("=")
    if kind == "ray" and (address or not separator):
        from fairexp.lab.experiments.run.cluster import RayCluster

        return RayCluster(address or None, tell=tell)
    if on == "local":
        from fairexp.lab.experiments.run.local import LocalProcesses

        return LocalProcesses(jobs)
    raise ArgumentError("--on", repr(on), "local, ray or ray=ADDRESS")
