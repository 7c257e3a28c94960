"""How processes are started: anew, the same on every system."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

CONTEXT = multiprocessing.get_context("spawn")
SINGLE_THREADS = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""Matrices are small and cores are taken; also, sums then come out the same everywhere."""


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
def deaf_to_interrupts() -> Iterator[None]:
    """Processes that start inside never hear Ctrl-C, which a terminal sends to all; this one hears it afterwards."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # else the first process starts it, which ends the deafness too early
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
