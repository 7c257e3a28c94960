"""What every worker needs, imported by the process that workers are forked from: they start with it in place.

Importing this module does the work, because modules to import are all that a fork server can be told of.
"""

from __future__ import annotations

import gc
import os
import signal
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import numpy as np

from fairexp.data import Dataset
from fairexp.metrics import misordered_pairs
from fairexp.registry import ranker_names
from fairexp.simulation.processes import REHEARSED
from fairexp.simulation.run import Result
from fairexp.simulation.settings import DataSettings, Settings, run

LOOK_SECONDS = 0.2


def rehearse(ranker: str) -> Result:
    """Play a few rounds, so that compiled functions are loaded (the first time ever: compiled) once for all workers."""
    rng = np.random.default_rng(0)
    features = rng.random((48, 3), dtype=np.float32)
    columns = rng.integers(0, 3, size=48), np.arange(0, 49, 12), tuple("abcd"), np.arange(48) % 2
    for array in (features, *columns):
        if isinstance(array, np.ndarray):
            array.setflags(write=False)  # as shared data is: numba compiles for either kind of array
    data = Dataset(features, *columns)
    settings = Settings(ranker=ranker, data=DataSettings(), rounds=20, n_points=2, user="perfect")
    return run(settings, data=(data, data, None))


def _get_ready() -> None:
    # The first call of any compiled function makes numba set itself up, which takes as long as importing it.
    misordered_pairs(np.array([0, 1]), np.array([1, 0]))
    known = set(ranker_names())
    for ranker in os.environ.pop(REHEARSED, "").split(","):
        # A ranker that needs to be told more than its name is not worth a failure here; its run will tell.
        with suppress(Exception), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if ranker in known:
                rehearse(ranker)
    # What is here stays: no worker's collector need look through it, nor touch the pages that all of them share.
    gc.collect()
    gc.freeze()


@contextmanager
def _unless_parent_ends() -> Iterator[None]:
    """End this process when the one that started it does: compiling for nobody would hold its output open."""
    parent = os.getppid()

    def look(*_: object) -> None:
        if os.getppid() != parent:
            os._exit(1)

    before = signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, LOOK_SECONDS, LOOK_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _hear_interrupts() -> None:
    """End the deafness in which `fairexp.simulation.processes` starts a fork server; what came meanwhile is dropped."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    signal.signal(signal.SIGINT, before)


if REHEARSED in os.environ:  # in a fork server; anybody else who imports this wants nothing done
    with _unless_parent_ends():
        _get_ready()
    _hear_interrupts()
