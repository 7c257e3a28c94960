"""How processes are started on this system."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

PRELOADED = "fairexp.simulation.preloaded"
REHEARSED = "FAIREXP_REHEARSED"
"""The environment variable by which a fork server is told the names of rankers, and `PRELOADED` that it is in one."""
SINGLE_THREADS = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""Matrices are small and cores are taken; also, sums then come out the same everywhere."""


def start_context(*, modules: Sequence[str] = (), rankers: Iterable[str] = ()) -> Any:
    """The `multiprocessing` context to start workers in.

    A fork server begins at once to import `modules` and to rehearse `rankers`, and this process goes on meanwhile. One
    that runs already is taken as it is.
    """
    context: Any = multiprocessing.get_context(start_method())
    if context.get_start_method() == "forkserver":
        from multiprocessing import forkserver, resource_tracker

        resource_tracker.ensure_running()  # else the fork server starts it, and that ends our deafness too early
        context.set_forkserver_preload([PRELOADED, *modules])
        rehearsed = {REHEARSED: ",".join(dict.fromkeys(rankers))}
        with environment(SINGLE_THREADS | rehearsed), _deaf_to_interrupts():
            forkserver.ensure_running()
    return context


def start_method() -> str:
    """Forks of a fresh process where there are any; on macOS, whose system libraries may not be forked, and on
    Windows every process is started anew."""
    methods = multiprocessing.get_all_start_methods()
    return "forkserver" if "forkserver" in methods and sys.platform != "darwin" else "spawn"


@contextmanager
def environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Processes that start inside find these environment variables."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """A process that starts inside hears no Ctrl-C, which a terminal sends to all: it would die with a traceback.

    `fairexp.simulation.preloaded` ends that, when the fork server is ready.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
