"""Draw how each part scales: `python -m benchmarks.curves` measures and writes charts to docs/performance."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.beliefs import adversarial, typical
from benchmarks.harness import no_garbage, seconds
from benchmarks.large import slab_products
from benchmarks.lines import Axes, chart
from benchmarks.reading import write_letor
from benchmarks.workloads import floor, pool, warm_ranker
from fairexp.charts.save import save_charts
from fairexp.lab.data import read_letor

FOLDER = Path(__file__).parents[1] / "docs" / "performance"
PROCESSOR = "milliseconds of processor time per round"
Point = dict[str, Any]


def main() -> None:
    """Measure the chosen curves and draw them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.curves", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=list(CURVES), metavar="NAME", help="draw these only")
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder for the charts")
    chosen = parser.parse_args()
    console = Console()
    for name in chosen.only or CURVES:
        with console.status(f"{name} ..."):
            measure, axes = CURVES[name]
            points = list(measure())
        save_charts({name: chart(points, axes)}, chosen.out)
        (chosen.out / f"{name}.json").write_text(json.dumps(points, indent=1) + "\n")
        console.print(f"{name}: {len(points)} points, drawn to {chosen.out / name}.svg")


def redraw(folder: Path = FOLDER) -> None:
    """Every chart again from the points that are kept beside it."""
    for name, (_, axes) in CURVES.items():
        save_charts({name: chart(json.loads((folder / f"{name}.json").read_text()), axes)}, folder)


def least_seconds(action: Callable[[], Any], *, budget: float = 1.0) -> float:
    """The smallest time of a call, over as many as fit into the budget (3 to 200): what it takes undisturbed."""
    action()
    taken: list[float] = []
    until = time.perf_counter() + budget
    with no_garbage():
        while len(taken) < 3 or (len(taken) < 200 and time.perf_counter() < until):
            taken.append(seconds(action))
    return min(taken)


def rank_by_documents() -> Iterator[Point]:
    """`rank` and its floor by n, at d = 136."""
    for n in (16, 32, 64, 125, 250, 500, 1000, 2000, 5000, 10_000):
        ranker = warm_ranker(pool(min(n, 1000), 136, count=8), rounds=60)
        query = pool(n, 136, count=1)[0][0]
        products = floor(n, 136) if n <= 2000 else slab_products(query.features)
        yield _milliseconds(n, "rank", lambda ranker=ranker, query=query: ranker.rank(query))
        yield _milliseconds(n, "two matrix products (floor)", products)


def rank_by_features() -> Iterator[Point]:
    """`rank` with both widths, and the floor of the full one, by d, at n = 125."""
    for d in (16, 46, 136, 300, 700, 1400, 2000):
        queries = pool(125, d, count=8)
        for series, width in (("rank", "full"), ("rank, diagonal width", "diagonal")):
            ranker = warm_ranker(queries, rounds=60 if d < 500 else 20, width=width)
            yield _milliseconds(d, series, lambda ranker=ranker, query=queries[0][0]: ranker.rank(query))
        yield _milliseconds(d, "two matrix products (floor)", floor(125, d))


def _milliseconds(x: int, series: str, action: Callable[[], Any]) -> Point:
    return {"x": x, "series": series, "value": 1e3 * least_seconds(action)}


def update_by_features() -> Iterator[Point]:
    """`update` with 20 pairs by d, and one Cholesky solve with a rank-20 update."""
    from benchmarks.update import update_row

    for d in (16, 46, 136, 300, 700, 1400, 2000):
        row = next(update_row(d, 3.0, turns=100 if d < 500 else 20))
        yield {"x": d, "series": "update", "value": 1e3 * row.samples["what"]["smallest"]}
        yield {"x": d, "series": "Cholesky solve + rank 20 (floor)", "value": 1e3 * row.samples["against"]["smallest"]}


def template_by_length() -> Iterator[Point]:
    """`best_template` by k with 2 and 3 groups, and F."""
    yield from _template_points([(k, k, n_groups) for n_groups in (2, 3) for k in (10, 15, 20, 35, 50)])


def template_by_groups() -> Iterator[Point]:
    """`best_template` by the number of groups, at k = 10."""
    yield from _template_points([(n_groups, 10, n_groups) for n_groups in (2, 3, 4, 5)])


def _template_points(shapes: list[tuple[int, int, int]]) -> Iterator[Point]:
    for x, length, n_groups in shapes:
        for made in (typical, adversarial):
            taken: list[float] = []
            until = time.perf_counter() + 6.0
            for case in made(length, n_groups, count=100):
                taken.append(min(seconds(lambda case=case: case.solve("draw")) for _ in range(2)))
                if time.perf_counter() > until:
                    break
            groups = "" if x == n_groups else f", {n_groups} groups"
            yield {"x": x, "series": f"{made.__name__}{groups}", "value": 1e3 * float(np.percentile(taken, 99))}
    for x in dict.fromkeys(x for x, _, _ in shapes):
        yield {"x": x, "series": "F", "value": 1e3 * least_seconds(floor())}


def reading_by_size() -> Iterator[Point]:
    """Reading LETOR text by its size, without the cache, and scikit-learn's reader."""
    from sklearn.datasets import load_svmlight_file

    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder, "data.txt")
        for megabytes in (5, 10, 20, 40, 80):
            write_letor(text, megabytes=megabytes)
            read_letor(text, cache=False)
            yield {"x": megabytes, "series": "read_letor", "value": seconds(lambda: read_letor(text, cache=False))}
            plain = seconds(lambda: load_svmlight_file(str(text), query_id=True))
            yield {"x": megabytes, "series": "scikit-learn", "value": plain}


def round_by_number() -> Iterator[Point]:
    """The median round (rank + update) and the resident memory by the number of rounds played."""
    yield from _along("milliseconds per round", "benchmarks.long_run", "--trace")


def simulation_by_number() -> Iterator[Point]:
    """Processor time of a simulated round on small queries, users, metrics and trace included, and the memory."""
    yield from _along(PROCESSOR, "benchmarks.million", "--json", "--rounds", "200000")


def _along(series: str, *module: str) -> Iterator[Point]:
    """Time and memory along a run that another process plays."""
    command = [sys.executable, "-m", *module]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=Path(__file__).parents[1])
    for point in json.loads(done.stdout):
        yield {"x": point["round"], "series": series, "value": 1e3 * point["seconds"]}
        yield {"x": point["round"], "series": "resident memory (100 MB)", "value": point["memory"] / 1e8}


CURVES: dict[str, tuple[Callable[[], Iterator[Point]], Axes]] = {
    "rank-documents": (rank_by_documents, Axes("One ranking by documents", "d = 136, k = 10", "n", "ms")),
    "rank-features": (rank_by_features, Axes("One ranking by features", "n = 125, k = 10", "d", "ms")),
    "update-features": (update_by_features, Axes("One update by features", "20 pairs", "d", "ms")),
    "template-length": (template_by_length, Axes("Template search by length", "99th percentile", "k", "ms")),
    "template-groups": (template_by_groups, Axes("Template search by groups", "99th percentile, k = 10", "G", "ms")),
    "reading-size": (reading_by_size, Axes("Reading LETOR text by size", "136 features", "MB of text", "seconds")),
    "rounds": (round_by_number, Axes("Time and memory over a run", "d = 136, k = 10", "rounds", "", logarithmic=False)),
    "simulation": (
        simulation_by_number,
        Axes("A long simulation", "PairRank, about 15 documents, d = 46", "rounds", "", logarithmic=False),
    ),
}

if __name__ == "__main__":
    main()
