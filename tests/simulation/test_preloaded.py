"""What a fork server has ready for its workers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fairexp.simulation.preloaded import rehearse

ROOT = Path(__file__).resolve().parents[2]
NEW_AFTER_REHEARSAL = """
import gc, sys, tempfile
from pathlib import Path
from numba.core.dispatcher import Dispatcher
from fairexp.simulation.preloaded import rehearse
from fairexp.simulation.settings import DataSettings, Settings, run
from fairexp.simulation.sharing import SharedData, kind_of, open_shared

def loaded():
    found = [each for each in gc.get_objects() if isinstance(each, Dispatcher)]
    return {(each.py_func.__module__, each.py_func.__name__, str(s)) for each in found for s in each.signatures}

parameters = {"tolerance": 0.001} if sys.argv[1].startswith("fairexp") else {}  # rounds that are hard to make fair
settings = Settings(
    ranker=sys.argv[1], parameters=parameters, data=DataSettings("mslr-pagerank", n_queries=20), rounds=60, n_points=4
)
with SharedData() as data:
    shared = open_shared(data.of([settings]))
    rehearse(settings.ranker)
    before = loaded()
    run(settings, data=shared[kind_of(settings)])
    sys.stdout.write(f"{len(before)} {sorted(loaded() - before)}")
"""


@pytest.mark.parametrize("ranker", ["fairexp-pairrank", "pdgd"])
def test_a_rehearsal_loads_every_compiled_function_that_a_run_calls(ranker: str) -> None:
    command = [sys.executable, "-c", NEW_AFTER_REHEARSAL, ranker]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    n_before, _, new = done.stdout.partition(" ")
    assert int(n_before) > 5 and new == "[]"


@pytest.mark.parametrize("ranker", ["fairexp-pairrank", "pairrank", "pdgd", "dbgd", "fairco", "random"])
def test_rankers_can_be_rehearsed_by_name_alone(ranker: str) -> None:
    assert rehearse(ranker).rounds == 20
