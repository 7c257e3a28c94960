"""The inside of a worker process: the data that it maps, the reports that it sends, the end that it is told of."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple

import numpy as np

from fairexp.lab.simulation.pool.shared_data import DataKind, Shared, data_kind, open_shared
from fairexp.lab.simulation.settings import Parts

LARGEST_KEPT = 2**25 - 2**16
"""Bytes: just below the largest block that glibc can be taught to keep."""


class Equipment(NamedTuple):
    """What a worker has beside its tasks: mapped data, an event that says when to stop, and a queue for reports."""

    data: dict[DataKind, Parts]
    stopping: Any
    reports: Any


_equipment: list[Equipment] = []
"""One in a worker, none elsewhere: a process pool lets an initializer hand tasks nothing but globals."""


def become_worker(shared: Shared, stopping: Any, reports: Any, lifeline: Connection) -> None:
    """Make this process a worker: called once, before its first task. It ends when `lifeline` is cut."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(lifeline,), daemon=True).start()
    keep_freed_memory()
    _equipment.append(Equipment(open_shared(shared), stopping, reports))


def keep_freed_memory() -> None:
    """Have the C library keep memory that is freed, instead of giving it back and asking for it anew in every round.

    glibc begins by handing every block of 128 kB or more back to the system when it is freed, so each temporary matrix
    is made of pages that the system must clear first. Once it has seen a larger block freed it keeps blocks up to that
    size. A process that loaded data has seen some; a worker, which only maps data, has not. Elsewhere nothing changes.
    """
    np.empty(LARGEST_KEPT, dtype=np.uint8)


def work_on(task: Any, work: Callable[..., Any]) -> Any:
    """What `work` makes of the task, on data that is at hand."""
    return work(task, data=_equipment[0].data.get(data_kind(task.settings)))


def report(item: Any) -> None:
    """Tell the process that handed out the task."""
    _equipment[0].reports.put(item)


def is_stopping() -> bool:
    """Whether tasks are to come to an early end."""
    return bool(_equipment[0].stopping.is_set())


def _end_with(lifeline: Connection) -> None:
    """Nothing is ever sent: it becomes readable when the other end is closed, by will or by a kill."""
    wait([lifeline])
    os._exit(1)
