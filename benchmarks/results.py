"""docs/results: the records of the experiment that it reports, packed into one file, and what is drawn from them.

    fairexp experiment run examples/mq2008.yaml --out results/mq2008     # measures: half an hour on two quiet cores
    python -m benchmarks.results results/mq2008                          # packs the records and draws the report

The pack holds final runs only: those that parameters were chosen by are named in it, with what was chosen.
"""

from __future__ import annotations

import csv
import json
import sys
import tempfile
import zipfile
from pathlib import Path
from textwrap import fill

from benchmarks.marks import between
from fairexp.lab.experiments.plan.run_list import FINAL
from fairexp.lab.experiments.report.report import write
from fairexp.lab.experiments.run.records import OVERVIEW, RUNS, Records
from fairexp.lab.experiments.store import FolderStore

FOLDER = Path(__file__).parents[1] / "docs" / "results" / "mq2008"
PACK = FOLDER / "records.zip"
MARKS = {"supported": "✓", "contradicted": "**✗**", "undecided": "?"}
_DATE = (2000, 1, 1, 0, 0, 0)
"""Of every file in the pack, so that the same records give the same bytes."""


def pack(records: Path, target: Path = PACK) -> None:
    """Put the overview and the records of all final runs into one file."""
    overview = json.loads((records / OVERVIEW).read_text(encoding="utf-8"))
    keys = [row["key"] for row in overview["runs"] if row["stage"] == FINAL]
    with zipfile.ZipFile(target, "w", zipfile.ZIP_LZMA) as file:
        for name in [OVERVIEW, *(f"{RUNS}/{key}.json" for key in keys)]:
            file.writestr(zipfile.ZipInfo(name, _DATE), (records / name).read_bytes(), zipfile.ZIP_LZMA)


def draw(target: Path = FOLDER, packed: Path = PACK) -> None:
    """The whole report from the pack."""
    with tempfile.TemporaryDirectory() as place:
        zipfile.ZipFile(packed).extractall(place)
        write(Records(FolderStore(Path(place))), target)


def with_claims(page: str, folder: Path = FOLDER) -> str:
    """The page with the report's verdicts between its marks: a row for each claim, a column for each kind of user."""
    with (folder / "tables" / "claims.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    users = list(dict.fromkeys(row["place"].rpartition(", ")[2].removesuffix(" users") for row in rows))
    cells = {(row["claim"], row["place"].rpartition(", ")[2].removesuffix(" users")): row for row in rows}
    verdicts = [row["verdict"] for row in rows]
    supported, contradicted, undecided = (verdicts.count(each) for each in MARKS)
    lines = [
        fill(
            f"{len(rows)} judgements: {supported} for the paper, {contradicted} against it, {undecided} undecided "
            "(✓ ✗ ?; effect and 95% interval; differences in discounted online NDCG, in held-out NDCG or in unfairness "
            "after the last round, or ratios of mean unfairness; NDCG of queries without a relevant document counts as "
            "0):",
            120,
        ),
        "",
        "| finding of the paper | " + " | ".join(users) + " |",
        "|---" * (len(users) + 1) + "|",
    ]
    for claim, statement in dict.fromkeys((row["claim"], row["statement"]) for row in rows):
        found = [cells.get((claim, user)) for user in users]
        texts = ["" if one is None else f"{MARKS[one['verdict']]} {one['text']}" for one in found]
        lines.append(f"| {statement} | " + " | ".join(texts) + " |")
    return between(page, "claims", lines)


if __name__ == "__main__":
    if len(sys.argv) != 2 or not (Path(sys.argv[1]) / OVERVIEW).is_file():
        sys.exit(
            "usage: python -m benchmarks.results FOLDER, where `fairexp experiment run ... --out FOLDER` kept records"
        )
    pack(Path(sys.argv[1]))
    draw()
