"""Every ranker of the registry, alone and inside FairExp, in the same worlds: the measured table of docs/rankers.md.

`python -m benchmarks.rankers` plays them, keeps the figures in `rankers.json` and puts them into the page; with
`--document` it does the last alone.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.marks import between
from fairexp.lab.simulation.environment import DEFAULTS
from fairexp.lab.simulation.run import run
from fairexp.lab.simulation.settings import DataSettings, RunSettings
from fairexp.measures import HELDOUT_NDCG, IRRELEVANT, MAX_UF, ONLINE_NDCG, QUALIFIED_SHARE, ZERO, Measure
from fairexp.rankers import FAIR, RANKERS
from fairexp.registry import parameters_of, ranker_names

RECORD = Path(__file__).with_name("rankers.json")
PAGE = Path(__file__).parents[1] / "docs" / "rankers.md"
BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data"
SEEDS = (0, 1, 2)
USER = "navigational"
MEASURED = (ONLINE_NDCG, HELDOUT_NDCG, MAX_UF, QUALIFIED_SHARE)
TOLD = frozenset({"n_features", "length", "exposure", "seed", "shares", "merit", "n_groups", "grades", "tolerance"})
"""Parameters that a world tells a ranker; one that needs more than these is left out."""


@dataclass(frozen=True)
class Place:
    """Where rankers are measured: `title` as the page says it, the data, and how many rounds."""

    title: str
    data: DataSettings
    rounds: int


def places() -> list[Place]:
    """The worlds, and MQ2008 where it lies beside the project or where FAIREXP_SHARED_DATA says."""
    found = [
        Place("`frequent`: 10 queries of about 20 documents", DataSettings("frequent"), 10_000),
        Place("`mslr-pagerank`: 300 queries of about 120 documents", DataSettings("mslr-pagerank"), 2_000),
    ]
    folder = Path(os.environ.get("FAIREXP_SHARED_DATA", BESIDE)) / "MQ2008"
    if folder.is_dir():
        files = {"source": str(folder / "S1.txt"), "heldout": str(folder / "S5.txt")}
        found.append(Place("MQ2008, a fifth of its queries", DataSettings(**files, group="41:0.4"), 2_000))
    return found


def measurable() -> list[str]:
    """The rankers that a world can build, by name, without FairExp around them."""
    return [name for name in sorted(RANKERS) if not _wanting(name)]


def _wanting(name: str) -> list[str]:
    """The parameters that somebody would have to choose."""
    empty = inspect.Parameter.empty
    return [key for key, each in parameters_of(name).items() if each.default is empty and key not in TOLD]


def figures(name: str, place: Place, *, rounds: int, seeds: tuple[int, ...]) -> dict[str, float | None]:
    """The measures of a ranker in a place, each the mean over seeds; None where it does not apply."""
    settings = RunSettings(ranker=name, data=place.data, rounds=rounds, user=USER, n_points=1)
    results = [run(settings.with_seed(seed)) for seed in seeds]
    told: dict[str, float | None] = {}
    for measure in MEASURED:
        values = [value for result in results if (value := result[measure]) is not None]
        told[measure.name] = sum(values) / len(values) if values else None
    return told


def measure(*, share: float = 1.0, seeds: tuple[int, ...] = SEEDS) -> Iterator[dict[str, Any]]:
    """One row for each place and ranker, with a share of the rounds: its figures `alone`, and `inside` FairExp."""
    hosts = set(ranker_names())
    for place in places():
        short = replace(place, rounds=max(int(place.rounds * share), 1))
        for name in measurable():
            names = {"alone": name, "inside": FAIR + name if FAIR + name in hosts else None}
            row = {
                kind: None if each is None else figures(each, short, rounds=short.rounds, seeds=seeds)
                for kind, each in names.items()
            }
            yield {"place": place.title, "rounds": short.rounds, "ranker": name, **row}


def with_table(page: str, record: dict[str, Any]) -> str:
    """The page with the figures of `record` between its marks."""
    lines = [_preface(record)]
    for title in dict.fromkeys(row["place"] for row in record["rows"]):
        rows = [row for row in record["rows"] if row["place"] == title]
        lines += ["", f"{title}, {rows[0]['rounds']:,} rounds:", "", *_table(rows)]
    return between(page, "measured", lines)


def _preface(record: dict[str, Any]) -> str:
    left_out = ", ".join(f"`{name}`" for name in record["left_out"])
    without = f" Without {left_out}, which must be told what to show." if left_out else ""
    return (
        f"Made by `make rankers-table`: {record['user']} users, lists of 10, {_runs(record['seeds'])}; "
        f"inside FairExp the tolerance is {record['tolerance']:g}. Held-out NDCG is of queries that were not "
        f"served, where a ranker can score them. {_rule(record)}{without}"
    )


def _rule(record: dict[str, Any]) -> str:
    """What its NDCG does with queries without a relevant document; older records left them out of what is held out."""
    rule = record.get("irrelevant")
    if rule is None:
        return "Queries without a relevant document count as 0 online, and are left out of what is held out."
    return f"NDCG, online and held out: {IRRELEVANT[rule]}."


def _runs(count: int) -> str:
    return "one run" if count == 1 else f"the mean of {count} runs"


def _table(rows: list[dict[str, Any]]) -> list[str]:
    headings = ["online NDCG", "held-out", "largest gap", "online NDCG inside FairExp", "held-out", "largest gap"]
    lines = ["| ranker | " + " | ".join([*headings, "qualified rounds"]) + " |", "|---" * 8 + "|"]
    for row in rows:
        alone, inside = row["alone"], row["inside"] or {}
        cells = [_text(each, alone) for each in MEASURED[:3]] + [_text(each, inside) for each in MEASURED]
        if alone[QUALIFIED_SHARE.name] is not None:
            cells[-1] = QUALIFIED_SHARE.text(alone[QUALIFIED_SHARE.name])
        lines.append(f"| `{row['ranker']}` | " + " | ".join(cells) + " |")
    return lines


def _text(measure: Measure, told: dict[str, float | None]) -> str:
    return measure.text(told.get(measure.name))


def main(arguments: list[str] | None = None) -> None:
    """Measure, keep the record, and put it into the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rankers", description=__doc__)
    parser.add_argument("--document", action="store_true", help="only put the figures that are kept into the page")
    parser.add_argument("--runs", type=int, default=len(SEEDS), help="runs of each, with seeds from 0 on")
    parser.add_argument("--share", type=float, default=1.0, help="the share of the rounds to play")
    chosen = parser.parse_args(arguments)
    if not chosen.document:
        rows = []
        for row in measure(share=chosen.share, seeds=tuple(range(chosen.runs))):
            print(row["place"], row["ranker"], row["alone"], row["inside"], flush=True)
            rows.append(row)
        left_out = sorted(set(RANKERS) - set(measurable()))
        record = {
            "user": USER,
            "seeds": chosen.runs,
            **DEFAULTS,
            "irrelevant": ZERO,
            "left_out": left_out,
            "rows": rows,
        }
        RECORD.write_text(json.dumps(record, indent=1) + "\n")
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), json.loads(RECORD.read_text())), encoding="utf-8")


if __name__ == "__main__":
    main()
