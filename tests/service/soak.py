"""Many requests for a long time, and the curve of memory and disk: `python -m tests.service.soak --requests 200000`.

Rankings expire after a short time here, so that what a week would bring happens within minutes. The samples go to
OUT.csv and a chart of them to OUT.svg.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import json
import os
import random
import signal
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairexp.service.policies.spec import FeedbackSpec, PolicySpec, RetentionSpec
from fairexp.service.store import open_store
from tests.service.torture import Server

SPEC = PolicySpec(
    features=8,
    groups={"small": 1.0, "large": 1.0},
    length=5,
    tolerance=0.3,
    seed=5,
    feedback=FeedbackSpec(window_seconds=20.0),
    retention=RetentionSpec(rankings_seconds=30.0),
)
SETTINGS = {"snapshot_every": 1000, "maintenance_seconds": 2.0, "cached_bytes": 6_000_000}
COLUMNS = ("seconds", "requests", "rss_mb", "store_mb", "log_entries")


@dataclass
class Count:
    """Requests answered well so far."""

    done: int = 0


class Line:
    """A connection that speaks just enough HTTP."""

    def __init__(self, port: int) -> None:
        self._port = port

    async def __aenter__(self) -> Line:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._writer.close()

    async def send(self, method: str, path: str, body: Any) -> Any:
        content = json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(content)}\r\n\r\n"
        self._writer.write(head.encode() + content)
        answer = await self._reader.readuntil(b"\r\n\r\n")
        length = next(int(line[15:]) for line in answer.split(b"\r\n") if line.lower().startswith(b"content-length:"))
        told = json.loads(await self._reader.readexactly(length))
        if not answer.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(f"{path}: {told}")
        return told


async def visit(port: int, count: Count, total: int, seed: int) -> None:
    """Rank, and click some of the time, until there have been enough requests."""
    chance = random.Random(seed)
    async with Line(port) as line:
        while count.done < total:
            rows = [[round(chance.random(), 2) for _ in range(8)] for _ in range(10)]
            groups = ("small", "large")
            candidates = [{"id": f"d{i}", "group": groups[i % 2], "features": row} for i, row in enumerate(rows)]
            ranked = await line.send("POST", "/v1/policies/soak/rank", {"candidates": candidates})
            count.done += 1
            if chance.random() < 0.5:
                events = [{"position": chance.randint(1, 5)}]
                await line.send("POST", "/v1/feedback", {"ranking_id": ranked["ranking_id"], "events": events})
                count.done += 1


def sample(started: float, count: Count, pid: int, address: str) -> tuple[float, ...]:
    """One row of the curve."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    store = open_store(address)
    store.open(serving=False)
    first, last = store.bounds(store.policies()[-1].policy)
    size = store.size()
    store.close()
    rss = pages * os.sysconf("SC_PAGE_SIZE") / 1e6
    return round(time.monotonic() - started, 1), count.done, round(rss, 1), round(size / 1e6, 2), last - first + 1


async def soak(
    server: Server, address: str, *, requests: int, n_visitors: int, every: float
) -> list[tuple[float, ...]]:
    """The rows of the curve."""
    count, started, rows = Count(), time.monotonic(), []
    async with Line(server.port) as line:
        await line.send("PUT", "/v1/policies/soak", SPEC.model_dump(mode="json"))
    visitors = [asyncio.create_task(visit(server.port, count, requests, seed)) for seed in range(n_visitors)]
    while not all(visitor.done() for visitor in visitors):
        await asyncio.wait(visitors, timeout=every)
        rows.append(await asyncio.to_thread(sample, started, count, server.pid, address))
        print("  ".join(f"{name} {value:g}" for name, value in zip(COLUMNS, rows[-1], strict=True)), flush=True)  # noqa: T201
    await asyncio.gather(*visitors)
    return rows


def draw(rows: list[tuple[float, ...]], path: Path) -> None:
    """Memory, disk and log over requests."""
    import altair as alt
    import vl_convert

    names = {"rss_mb": "memory (MB)", "store_mb": "store on disk (MB)", "log_entries": "log entries"}
    charts = []
    for column, title in names.items():
        values = [{"requests": row[1], "value": row[COLUMNS.index(column)]} for row in rows]
        line = alt.Chart(alt.Data(values=values)).mark_line()
        charts.append(
            line.encode(x=alt.X("requests:Q", axis=alt.Axis(format="~s")), y=alt.Y("value:Q", title=title)).properties(
                width=260, height=200
            )
        )
    spec = alt.hconcat(*charts).to_dict(validate=False)
    path.write_text(vl_convert.vegalite_to_svg(spec), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=200_000)
    parser.add_argument("--visitors", type=int, default=24)
    parser.add_argument("--every", type=float, default=10.0, help="Seconds between samples.")
    parser.add_argument("--out", type=Path, default=Path("soak"))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.out.resolve().parent) as folder:
        address = str(Path(folder) / "store.db")
        server = Server(address, SETTINGS)
        server.start()
        work = soak(server, address, requests=arguments.requests, n_visitors=arguments.visitors, every=arguments.every)
        rows = asyncio.run(work)
        server.end(signal.SIGTERM)
        server.close()
    with arguments.out.with_suffix(".csv").open("w", newline="") as file:
        csv.writer(file).writerows([COLUMNS, *rows])
    draw(rows, arguments.out.with_suffix(".svg"))


if __name__ == "__main__":
    main()
