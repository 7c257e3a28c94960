"""README's table and picture: measured by one command, kept as records, and put into the page from those.

    python -m benchmarks.readme --folder MQ2008     # the folder that holds Fold1; some minutes on two cores

The table needs LETOR 4.0 MQ2008 (`fairexp data describe mq2008` says where it comes from); the picture needs nothing.
`python -m benchmarks.pages` draws both again without measuring anything.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from pathlib import Path
from textwrap import fill
from typing import Any

import fairexp
from benchmarks.marks import between
from fairexp.charts import Manner, unfairness_chart
from fairexp.charts.extra import vl_convert
from fairexp.charts.style import display_name
from fairexp.cli.commands.demo import TOLERANCE, demo_runs
from fairexp.lab.simulation.pool.batch import run_many
from fairexp.lab.simulation.rows import read_rows
from fairexp.lab.simulation.settings import DataSettings, RunSettings
from fairexp.measures import HELDOUT_NDCG, IRRELEVANT, MAX_UF, ONLINE_NDCG, QUALIFIED_SHARE, UF, ZERO
from fairexp.registry import keeps_tolerance
from fairexp.statistics import effect

ROOT = Path(__file__).parents[1]
TABLE, PICTURE = Path(__file__).with_name("readme.json"), Path(__file__).with_name("picture.json")
RANKERS = ("pairrank", "fairexp-pairrank", "fairco", "pdgd", "dbgd", "oracle", "fairexp-oracle")
FAIR = "fairexp-pairrank"
USERS = ("perfect", "navigational", "informational")
NAMES = {"oracle": "an oracle that knows the labels", "fairexp-oracle": "FairExp around that oracle: the ceiling"}
ROUNDS, SEEDS, TOLERATED = 1000, 5, 0.1


def measure(folder: Path, *, rounds: int = ROUNDS, seeds: int = SEEDS) -> dict[str, Any]:
    """The record of the table: every ranker with every user, means over seeds, on fold 1."""
    data = DataSettings("mq2008", str(folder), group="pagerank")
    runs = [
        RunSettings(
            ranker, {"tolerance": TOLERATED} if keeps_tolerance(ranker) else {}, data, user, rounds=rounds, seed=seed
        )
        for user in USERS
        for ranker in RANKERS
        for seed in range(seeds)
    ]
    rows: dict[tuple[str, str], list[Any]] = {}
    for settings, result in zip(runs, run_many(runs), strict=True):
        assert result is not None
        rows.setdefault((settings.ranker, settings.user), []).append(result)
    told = [{"ranker": ranker, "user": user, **_figures(found)} for (ranker, user), found in rows.items()]
    same = {"rounds": rounds, "seeds": seeds, "tolerance": TOLERATED, "irrelevant": ZERO}
    return {**same, "version": fairexp.__version__, "rows": told}


def _figures(results: list[Any]) -> dict[str, float | None]:
    """Means over seeds, the half width of online NDCG, and the largest gap of any seed."""
    online = effect([result.value(ONLINE_NDCG) for result in results])
    means = {}
    for each in (HELDOUT_NDCG, QUALIFIED_SHARE):
        values = [value for result in results if (value := result[each]) is not None]
        means[each.name] = sum(values) / len(values) if values else None
    largest = max(result.value(MAX_UF) for result in results)
    return {ONLINE_NDCG.name: online.mean, "half width": online.half_width, MAX_UF.name: largest, **means}


def with_table(page: str, record: dict[str, Any]) -> str:
    """The page with what `record` says between its marks."""
    rows = {(row["ranker"], row["user"]): row for row in record["rows"]}
    widths = {name: [rows[name, user]["half width"] for user in USERS] for name in RANKERS[:5]}
    low, high = (pick(pick(found) for found in widths.values()) for pick in (min, max))
    lines = [
        fill(
            "On MQ2008 (LETOR 4.0, fold 1, groups by PageRank above the median, equal shares, "
            f"tolerance {record['tolerance']:g}, {record['rounds']:,} rounds, means of {record['seeds']} seeds, "
            "every ranker with its defaults; NDCG@10, online discounted by 0.9995 per round; "
            f"{IRRELEVANT[record['irrelevant']]}, online and held out alike):",
            120,
        ),
        "",
        "| | perfect users: online / held out | navigational | informational | largest gap | rounds within "
        f"{record['tolerance']:g} |",
        "|---|---|---|---|---|---|",
        *(_line(name, [rows[name, user] for user in USERS]) for name in RANKERS),
        "",
        f"95% half widths over seeds are {low:.0f} to {high:.0f} for online NDCG of the rankers that learn.",
    ]
    return between(page, "measured", lines)


def _line(name: str, rows: list[dict[str, Any]]) -> str:
    shares = [row[QUALIFIED_SHARE.name] for row in rows]
    kept = "" if None in shares else f"{_range(shares)}, in the rest no ranking could"
    cells = [NAMES.get(name, display_name(name)), *map(_quality, rows), _gap(rows), kept]
    return "| " + " | ".join(f"**{cell}**" if name == FAIR and cell else cell for cell in cells) + " |"


def _quality(row: dict[str, Any]) -> str:
    heldout = row[HELDOUT_NDCG.name]
    return f"{row[ONLINE_NDCG.name]:.0f}" + ("" if heldout is None else f" / {heldout:.3f}".replace("0.", "."))


def _gap(rows: list[dict[str, Any]]) -> str:
    largest = max(row[MAX_UF.name] for row in rows)
    return f"{largest:,.0f}" if largest >= 10 else f"{largest:.1f}"


def _range(shares: list[float]) -> str:
    """From the lowest to the highest percentage, both rounded down."""
    low, high = (int(100 * pick(shares)) for pick in (min, max))
    return f"{low}%" if low == high else f"{low}-{high}%"


def measure_picture() -> dict[str, Any]:
    """The record of the picture: the demo's gaps, by round."""
    runs = demo_runs(1000, 4)
    with tempfile.TemporaryDirectory() as place:
        run_many(runs, folder=Path(place))
        rows = read_rows(Path(place) / run.label for run in runs)
    kept = [
        [row["ranker"], row["seed"], row["round"], round(row[UF.name], 4), round(row[MAX_UF.name], 4)] for row in rows
    ]
    return {"version": fairexp.__version__, "tolerance": TOLERANCE, "rows": kept}


def picture(record: dict[str, Any]) -> str:
    """The SVG that `record` gives."""
    names = ("ranker", "seed", "round", UF.name, MAX_UF.name)
    rows = [dict(zip(names, row, strict=True)) for row in record["rows"]]
    spec = unfairness_chart(rows, Manner(), tolerance=record["tolerance"]).to_dict(validate=False)
    drawn = str(vl_convert().vegalite_to_svg(spec))
    clips: dict[str, str] = {}  # numbered on from one drawing of a process to the next
    return re.sub(r"\bclip\d+", lambda found: clips.setdefault(found[0], f"clip{len(clips)}"), drawn)


def main(arguments: list[str] | None = None) -> None:
    """Measure the table, the picture, or both; `benchmarks.pages` puts them where they belong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.readme", description=__doc__)
    parser.add_argument(
        "--folder", type=Path, help="where MQ2008 lies (Fold1/train.txt ...); without, only the picture"
    )
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    chosen = parser.parse_args(arguments)
    PICTURE.write_text(json.dumps(measure_picture()) + "\n")
    print(f"measured {PICTURE}")
    if chosen.folder is None:
        print("README's table needs MQ2008: pass --folder, the folder that holds Fold1.")
        return
    TABLE.write_text(json.dumps(measure(chosen.folder, rounds=chosen.rounds, seeds=chosen.seeds), indent=1) + "\n")
    print(f"measured {TABLE}")


if __name__ == "__main__":
    main()
