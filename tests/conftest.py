"""What holds for all tests."""

from __future__ import annotations

import signal

# A shell ignores Ctrl-C in what it runs in the background, and processes inherit that; tests of Ctrl-C need it heard.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
