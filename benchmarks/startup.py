"""Time from a new process to the first result, against importing numpy; of a server, against an empty one."""

from __future__ import annotations

import atexit
import http.client
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from functools import cache, partial
from itertools import count
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory, mkdtemp

from benchmarks.harness import Action, Bar, Outcome, Part, by_turns, compare

ROOT = Path(__file__).resolve().parent.parent
SIMULATE = ("simulate", "--ranker", "fairexp-pairrank", "--rounds", "10")
FIRST_RANK = """
import numpy as np
from fairexp import FairExp, PairRank, Query
ranker = FairExp(PairRank(n_features=136, length=10), tolerance=0.1, beta=1.0, seed=7)
ranker.rank(Query(features=np.random.default_rng(0).random((125, 136)), groups=np.arange(125) % 2))
"""

ONE_GROUP = """
ranker.rank(Query(features=np.random.default_rng(0).random((125, 136)), groups=np.zeros(125, dtype=int)))
"""

EMPTY_APP = """
import sys
import uvicorn
from fastapi import FastAPI
app = FastAPI()
app.get("/readyz")(lambda: {"status": "ready"})
uvicorn.run(app, port=int(sys.argv[1]), log_level="warning")
"""

ONE_POLICY = "policies: {bench: {features: 136, groups: {small: 1.0, large: 1.0}, tolerance: 0.1}}"

DONE = "\nimport os; os._exit(0)"
"""What a process does once it has its result: how long it takes to fall apart is nobody's wait."""


def parts(quick: bool) -> Iterator[Part]:
    """Rows for the import, the help text, the first rankings, a short simulation and the service.

    All run in an environment of their own: packages of this one may be editable, and those look for changes whenever a
    process imports them.
    """
    turns = 5 if quick else 15
    new = new_environment()
    yield partial(light_row, "import fairexp", [new, "-c", "import fairexp"], 3.0, turns=turns)
    yield partial(light_row, "fairexp --help", [new, "-m", "fairexp", "--help"], 6.0, turns=turns)
    yield partial(light_row, "first rank in a new process", [new, "-c", FIRST_RANK + DONE], 2.5, turns=turns)
    both = [new, "-c", FIRST_RANK + ONE_GROUP + DONE]
    yield partial(light_row, "first rank, and a round of one group", both, 2.5, turns=turns)
    yield partial(light_row, "fairexp simulate, ten rounds", [new, "-m", "fairexp", *SIMULATE], 8.0, turns=turns)
    yield partial(service_row, new, turns=turns)


def light_row(what: str, words: Sequence[str], limit: float, *, turns: int) -> Iterator[Outcome]:
    """Something that should cost little more than numpy does."""
    a, b = by_turns(run(*words), run(words[0], "-c", "import numpy" + DONE), turns=turns)
    yield compare(what, "import numpy, new process", Bar(limit), a, b)


def service_row(python: str, *, turns: int) -> Iterator[Outcome]:
    """The service from its start, on an empty store with one policy, until it is ready."""
    with TemporaryDirectory() as folder:
        policies, numbers = Path(folder, "policies.yaml"), count()
        policies.write_text(ONE_POLICY)

        def service() -> None:
            store = str(Path(folder, f"{next(numbers)}.db"))
            words = ["-m", "fairexp", "serve", "--open", "--store", store, "--policies", str(policies), "--port"]
            until_ready(python, *words)

        a, b = by_turns(service, lambda: until_ready(python, "-c", EMPTY_APP), turns=turns)
    what = "service on an empty store with one policy, from its start to /readyz"
    yield compare(what, "an empty FastAPI app under uvicorn", Bar(2.5), a, b)


def until_ready(*words: str) -> None:
    """Start a server, with a free port as its last argument, and end it as soon as it says that it is ready."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with subprocess.Popen([*words, str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            while not is_ready(port):
                if process.poll() is not None:
                    raise RuntimeError(f"{words[-2]}: the server ended with exit code {process.returncode}")
                time.sleep(0.002)
        finally:
            process.kill()


def is_ready(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


@cache
def new_environment() -> str:
    """The interpreter of a new environment into which this project was installed as anybody would install it."""
    folder = Path(mkdtemp(prefix="fairexp-bench-"))
    atexit.register(rmtree, folder, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = str(folder / "bin" / "python")
    words = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--constraint", "constraints.txt"]
    subprocess.run([python, *words, f"{ROOT}[service]"], check=True, cwd=ROOT, stderr=subprocess.DEVNULL)
    return python


def run(*words: str) -> Action:
    """A run of a program that keeps Python's bytecode, as an installed package has it, whatever is usual here."""
    environment = {**os.environ, "COLUMNS": "100"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return lambda: subprocess.run(words, check=True, stdout=subprocess.DEVNULL, env=environment)
