"""Ctrl-C that takes effect where a run can be left: at the end of a round."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Self


class Interrupts:
    """Within the block, Ctrl-C is noted in `wanted` instead of being raised; a second one is raised at once.

    Outside the main thread, where no signals arrive, and where somebody else handles them, nothing changes.

    >>> with Interrupts() as interrupts:
    ...     signal.raise_signal(signal.SIGINT)
    >>> interrupts.wanted
    True
    """

    def __init__(self) -> None:
        self.wanted = False
        self._before: Any = None

    def __enter__(self) -> Self:
        is_ours = threading.current_thread() is threading.main_thread()
        if is_ours and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.wanted:
            signal.default_int_handler(number, frame)
        self.wanted = True
