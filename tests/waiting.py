"""The one way in which tests wait: for something to be so, with a limit that only a hang can reach."""

from __future__ import annotations

import time
from collections.abc import Callable

SECONDS = 300.0
STEP_SECONDS = 0.005


def until(done: Callable[[], object], problem: str = "what was waited for did not happen") -> None:
    """Return as soon as `done()` says so."""
    limit = time.monotonic() + SECONDS
    while not done():
        assert time.monotonic() < limit, problem
        time.sleep(STEP_SECONDS)
