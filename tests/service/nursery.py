"""A process that has everything imported, and forks a server whenever it reads a line: quick restarts.

Run as `python -m tests.service.nursery ADDRESS PORT SETTINGS RANKER`; SETTINGS is JSON. Prints the server's process id.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys


def die_with_parent() -> None:
    """Leave no server behind when whoever started it is killed (Linux)."""
    libc = ctypes.CDLL(None)
    if hasattr(libc, "prctl"):
        libc.prctl(1, signal.SIGKILL)


def main() -> None:
    import uvicorn

    from fairexp.service.http.server import server_config
    from fairexp.service.http.service import Service
    from fairexp.service.policies.rankers import try_out
    from fairexp.service.settings import ServerSettings
    from fairexp.service.store import open_store
    from tests.service.torture import SPEC

    die_with_parent()
    address, port, settings = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])
    spec = SPEC.model_copy(update={"ranker": sys.argv[4]})
    try_out(spec)  # imports what ranking needs, once for all children
    for _ in sys.stdin:
        child = os.fork()
        if child == 0:
            die_with_parent()
            # Children hold no end of the pipe, so that it closes with the harness.
            os.close(sys.stdin.fileno())
            store, changed = open_store(address), ServerSettings().changed(settings)
            service = Service(store, settings=changed, policies={"shop": spec}, open=True)
            uvicorn.Server(server_config(service, port=port)).run()
            os._exit(0)
        print(child, flush=True)  # noqa: T201
        os.waitpid(child, 0)
        print("ended", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
