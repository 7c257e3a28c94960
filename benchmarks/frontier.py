"""docs/results/frontier.md from the record of a frontier: `python -m benchmarks.frontier [frontier.json of a report]`.

With a record it is kept beside the page (numbers to six digits) and the page written from it; without, the page is
written anew from the record that is there.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

PLACE = Path(__file__).resolve().parents[1] / "docs" / "results"
RECORD, PAGE = PLACE / "frontier.json", PLACE / "frontier.md"
LARGEST = "max UF"
TOTALS = (LARGEST, "mean UF", "final UF")
DIGITS = 6
Row = Mapping[str, Any]


def page(record: Mapping[str, Any]) -> str:
    """The page that a record makes."""
    about = record["about"]
    verdicts, held = record["frontier_verdicts"], record["frontier_held"]
    places = list(dict.fromkeys((row["data"], row["user"]) for row in verdicts))
    rounds = ", ".join(f"{label} {n:,}" for label, n in about["rounds"].items())
    reference = about["rankers"][verdicts[0]["reference"]]
    lines = [
        "# The frontier: NDCG at the same unfairness",
        "",
        "Written by `python -m benchmarks.frontier` from [the record](frontier.json), which was made by",
        "",
        "```",
        about["command"],
        "```",
        "",
        f"with fairexp {about['versions']['fairexp']}, {len(about['seeds'])} seeds, one fold, exposure 1/p and equal "
        f"shares; rounds: {rounds}. Each fair ranker has several values of its own trade-off parameter. [How levels of "
        "unfairness are matched](../experiments.md#the-frontier). Intervals are over seeds of one fold: they hold for "
        "that data alone. No ranker was tuned for these data, but FairExp's defaults were chosen on MQ2008 and "
        "`mslr-pagerank` ([how](leads.md)).",
        *(["", about["note"]] if "note" in about else []),
        "",
        f"## Largest unfairness: {reference} at the levels that each rival reaches",
        "",
        *_summary(verdicts, about, reference),
        "",
        *_matrix(verdicts, about, places),
        "",
        "## Where it is not ahead by the means",
        "",
        *_losses(verdicts, about),
        "",
        "## Who holds the frontier of largest unfairness",
        "",
        *_held(held, about, places),
        "",
        "## Other measures of unfairness",
        "",
        *_others(verdicts, about),
    ]
    return "\n".join(lines) + "\n"


def _summary(verdicts: Sequence[Row], about: Row, reference: str) -> list[str]:
    own = [row for row in verdicts if row["measure"] == LARGEST]
    kinds = [row["verdict"] for row in own]
    return [
        f"At {_above(own)} of {len(own)} levels {reference} has at least its rival's online NDCG by the mean of seeds; "
        f"{kinds.count('ahead')} of all are surely ahead, {kinds.count('behind')} surely behind, "
        f"{kinds.count('undecided')} undecided and {kinds.count('not reached')} not reached. Cells: levels with at "
        "least the rival's NDCG, of all that it reaches; in brackets the smallest difference in online NDCG.",
    ]


def _matrix(verdicts: Sequence[Row], about: Row, places: Sequence[tuple[str, str]]) -> list[str]:
    rivals = list(dict.fromkeys(row["rival"] for row in verdicts))
    lines = [_line(["rival", *(f"{data}, {user}" for data, user in places)]), _line(["---"] * (len(places) + 1))]
    for rival in rivals:
        cells = []
        for data, user in places:
            own = _chosen(verdicts, measure=LARGEST, rival=rival, data=data, user=user)
            known = [row["difference"] for row in own if row["difference"] is not None]
            least = f" ({min(known):+.1f})" if known else ""
            text = f"{_above(own)} of {len(own)}{least}"
            cells.append(text if _above(own) == len(own) else f"**{text}**")
        lines.append(_line([about["rankers"][rival], *cells]))
    return lines


def _losses(verdicts: Sequence[Row], about: Row) -> list[str]:
    lost = [row for row in verdicts if row["measure"] == LARGEST and not _is_above(row)]
    if not lost:
        return ["Nowhere."]
    lines = [_line(["where", "rival", "its trade-off", "largest gap", "its NDCG", "FairExp's there", "difference", ""])]
    lines.append(_line(["---"] * 8))
    for row in lost:
        own, theirs = row["rival's"], row["reference's"]
        numbers = [f"{row['unfairness']:.3g}", f"{own:.1f}"]
        told = "" if theirs is None else f"{theirs:.1f}"
        trade = f"{row['parameter']} {row['value']:g}"
        cells = [f"{row['data']}, {row['user']}", about["rankers"][row["rival"]], trade, *numbers, told]
        lines.append(_line([*cells, _difference(row), row["verdict"]]))
    return lines


def _held(held: Sequence[Row], about: Row, places: Sequence[tuple[str, str]]) -> list[str]:
    lines = [_line(["where", "share of the levels, from the fairest to the least fair point"]), _line(["---"] * 2)]
    for data, user in places:
        own = _chosen(held, measure=LARGEST, data=data, user=user)
        kept = sorted((row for row in own if row["share"] > 0), key=lambda row: -row["share"])
        told = "; ".join(f"{about['rankers'][row['ranker']]} {row['share']:.0%} ({row['from and to']})" for row in kept)
        lines.append(_line([f"{data}, {user}", told]))
    return lines


def _others(verdicts: Sequence[Row], about: Row) -> list[str]:
    """All settings together: by measure and rival, at how many levels the reference has at least the rival's NDCG."""
    measures = [one for one in dict.fromkeys(row["measure"] for row in verdicts) if one != LARGEST]
    rivals = list(dict.fromkeys(row["rival"] for row in verdicts))
    lines = [
        "All settings together; cells as above, with what is surely behind or not reached. `list UF` is the gap within "
        "each list, `impact UF` that in clicks, `item UF` inequality between documents of one grade: FairExp aims at "
        "none of the three.",
        "",
        _line(["rival", *measures]),
        _line(["---"] * (len(measures) + 1)),
    ]
    for rival in rivals:
        cells = []
        for measure in measures:
            own = _chosen(verdicts, measure=measure, rival=rival)
            kinds = [row["verdict"] for row in own]
            bad = [f"{kinds.count(kind)} {kind}" for kind in ("behind", "not reached") if kind in kinds]
            cells.append(f"{_above(own)} of {len(own)}" + (f" ({', '.join(bad)})" if bad else ""))
        lines.append(_line([about["rankers"][rival], *cells]))
    return lines


def _chosen(rows: Sequence[Row], **wanted: str) -> list[Row]:
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def _is_above(row: Row) -> bool:
    return row["difference"] is not None and row["difference"] >= 0


def _above(rows: Sequence[Row]) -> int:
    return sum(map(_is_above, rows))


def _difference(row: Row) -> str:
    if row["difference"] is None:
        return ""
    return f"{row['difference']:+.1f} [{row['low']:+.1f}, {row['high']:+.1f}]"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _rounded(value: Any) -> Any:
    """Floats to six digits, in all that is nested."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    return [_rounded(each) for each in value] if isinstance(value, list) else value


def main() -> None:
    """Keep a new record where one is given, and write the page."""
    if len(sys.argv) > 1:
        found = _rounded(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
        RECORD.write_text(json.dumps(found, separators=(",", ":")) + "\n", encoding="utf-8")
    PAGE.write_text(page(json.loads(RECORD.read_text(encoding="utf-8"))), encoding="utf-8")


if __name__ == "__main__":
    main()
