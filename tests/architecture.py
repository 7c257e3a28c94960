"""The rooms of the code and the imports between them, read from the sources, and the modules that a call passes.

`python -m tests.architecture` prints the pictures of docs/architecture.md; a test compares them.
"""

from __future__ import annotations

import ast
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "src" / "fairexp"
PICTURES = ("", "service", "experiments", "simulation", "cli")
"""What is drawn: the folders of the package, and the rooms of those that have some."""

Graph = dict[str, set[str]]


def modules() -> dict[str, Path]:
    """Every module by its dotted name without `fairexp.`; a package is its `__init__`."""
    found = {}
    for path in SOURCES.rglob("*.py"):
        parts = path.relative_to(SOURCES).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = path
    return found


def room_of(module: str, inside: str) -> str | None:
    """The folder or module directly under `inside` that a module is part of; None if it lies elsewhere."""
    prefix = f"{inside}." if inside else ""
    return module.removeprefix(prefix).split(".")[0] if module.startswith(prefix) else None


def imported(path: Path) -> Iterator[tuple[str, str]]:
    """What a file imports of ours when it runs, as (module, name); what only type checkers read is left out."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    hidden = {
        id(node)
        for branch in ast.walk(tree)
        if isinstance(branch, ast.If) and "TYPE_CHECKING" in ast.unparse(branch.test)
        for node in ast.walk(branch)
    }
    for node in ast.walk(tree):
        if id(node) in hidden:
            continue
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "fairexp":
            yield from ((_own(node.module or ""), alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((_own(alias.name), "") for alias in node.names if alias.name.split(".")[0] == "fairexp")


def _own(module: str) -> str:
    return module.removeprefix("fairexp").removeprefix(".")


def defined_in(module: str, name: str, known: dict[str, Path]) -> str:
    """The module that a name comes from: packages only lend what their modules define."""
    inner = f"{module}.{name}" if module else name
    if inner in known:
        return inner
    if known[module].name == "__init__.py":
        for source, lent in imported(known[module]):
            if lent == name:
                return defined_in(source, name, known)
    return module


def room_graph(inside: str = "") -> Graph:
    """Which rooms under `inside` each of them imports from.

    A package's `__init__` only lends names, so it is part of no room.
    """
    known = modules()
    graph: Graph = {}
    for module, path in known.items():
        room = room_of(module, inside)
        if path.name == "__init__.py" or room is None:
            continue
        sources = {defined_in(source, name, known) for source, name in imported(path)}
        others = {room_of(source, inside) for source in sources if known[source].name != "__init__.py"}
        graph.setdefault(room, set()).update(other for other in others if other not in (room, None))
    return graph


def reachable(graph: Graph, start: str) -> set[str]:
    """Every room that can be reached by following arrows from `start`."""
    found: set[str] = set()
    waiting = list(graph[start])
    while waiting:
        room = waiting.pop()
        if room not in found:
            found.add(room)
            waiting.extend(graph[room])
    return found


def arrows(graph: Graph) -> list[tuple[str, str]]:
    """The arrows that no others imply; a `ValueError` that names two rooms if they import each other."""
    for room in graph:
        if room in reachable(graph, room):
            other = next(each for each in sorted(graph[room]) if room in {each} | reachable(graph, each))
            raise ValueError(f"{room} and {other} import each other")
    return sorted(
        (room, other)
        for room, others in graph.items()
        for other in others
        if not any(other in reachable(graph, between) for between in others - {other})
    )


def picture(inside: str = "") -> str:
    """The rooms under `inside` and their arrows, for Mermaid."""
    graph = room_graph(inside)
    drawn = arrows(graph)
    alone = sorted(graph.keys() - {room for arrow in drawn for room in arrow})
    lines = [*(f"    {a} --> {b}" for a, b in drawn), *(f"    {room}" for room in alone)]
    return "\n".join(["```mermaid", "graph TD", *lines, "```"])


class Footsteps:
    """The modules whose functions are entered while it is `on`, in the order in which each is first entered.

    Threads that are started after it was made are followed too. Compiled kernels leave no trace.
    """

    def __init__(self) -> None:
        self._seen: dict[str, None] = {}
        self._on = False
        threading.setprofile(self._note)
        sys.setprofile(self._note)

    def end(self) -> None:
        """Follow nobody any more."""
        sys.setprofile(None)
        threading.setprofile(None)

    def of(self, call: Callable[[], object]) -> list[str]:
        """The modules that `call` passes."""
        self._seen, self._on = {}, True
        try:
            call()
        finally:
            self._on = False
        by_path = {str(path): name for name, path in modules().items()}
        return [by_path[path] for path in self._seen if path in by_path]

    def _note(self, frame: FrameType, event: str, argument: object) -> None:
        if self._on and event == "call" and frame.f_code.co_name != "<module>":
            self._seen.setdefault(frame.f_code.co_filename)


if __name__ == "__main__":
    for folder in PICTURES:
        print(f"{folder or 'fairexp'}\n\n{picture(folder)}\n")  # noqa: T201
