"""What holds for all tests."""

from __future__ import annotations

import signal

import fairexp  # noqa: F401  kernels that changed are compiled here, once, before the processes that run tests all want to

# A shell ignores Ctrl-C in what it runs in the background, and processes inherit that; tests of Ctrl-C need it heard.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
