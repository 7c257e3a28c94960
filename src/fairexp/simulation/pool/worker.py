"""The inside of a worker process: the data that it maps, the reports that it sends, the end that it is told of."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from fairexp.simulation.pool.shared_data import Kind, Shared, kind_of, open_shared
from fairexp.simulation.settings import Parts

LARGEST_KEPT = 2**25 - 2**16
"""Bytes: just below the largest block that glibc can be taught to keep."""
_data: dict[Kind, Parts] = {}
_tools: dict[str, Any] = {}


def begin(shared: Shared, stopping: Any, reports: Any) -> None:
    """Make this process a worker: called once, before its first task."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    keep_freed_memory()
    _data.update(open_shared(shared))
    _tools.update(stopping=stopping, reports=reports)


def keep_freed_memory() -> None:
    """Have the C library keep memory that is freed, instead of giving it back and asking for it anew in every round.

    glibc begins by handing every block of 128 kB or more back to the system when it is freed, so each temporary matrix
    is made of pages that the system must clear first. Once it has seen a larger block freed it keeps blocks up to that
    size. A process that loaded data has seen some; a worker, which only maps data, has not. Elsewhere nothing changes.
    """
    np.empty(LARGEST_KEPT, dtype=np.uint8)


def carry_out(work: Callable[..., Any], task: Any) -> Any:
    """What `work` makes of the task, on data that is at hand."""
    return work(task, data=_data.get(kind_of(task.settings)))


def report(item: Any) -> None:
    """Tell the process that handed out the task."""
    _tools["reports"].put(item)


def is_stopping() -> bool:
    """Whether tasks are to come to an early end."""
    return bool(_tools["stopping"].is_set())


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
