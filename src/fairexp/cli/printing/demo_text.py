"""What the numbers of the demo say, in plain words that are computed from them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from fairexp.cli.printing.summary import Summary
from fairexp.measures import (
    HELDOUT_NDCG,
    IRRELEVANT,
    MEAN_ADDED_REGRET,
    MEAN_ONLINE_NDCG,
    ONLINE_NDCG,
    UF,
    share_text,
)

if TYPE_CHECKING:
    from fairexp.charts import Fact
    from fairexp.simulation.settings import RunSettings


def reading(
    runs: Sequence[RunSettings],
    folders: Sequence[Path],
    summaries: Sequence[Summary],
    *,
    tolerance: float,
    fair: str = "fairexp-pairrank",
    host: str = "pairrank",
) -> list[str]:
    """Two sentences: what FairExp kept and what it cost, and how far the gap grew without it."""
    lines = {line.ranker: line for line in summaries}
    within = share_within([folder for run, folder in zip(runs, folders, strict=True) if run.ranker == fair], tolerance)
    own, other = (lines[name].value(ONLINE_NDCG) for name in (fair, host))
    assert own is not None and other is not None
    kept = 100 * own / other
    without = lines[host].max_unfairness or 0.0
    rest = {name: line.max_unfairness or 0.0 for name, line in lines.items() if name not in (fair, host)}
    first = (
        f"FairExp kept unfairness within {tolerance:g} in {share_text(within.share)} of rounds{within.excuse}, "
        f"at {kept:.0f}% of PairRank's online NDCG."
    )
    second = f"Without it the gap grew to {_round(without)}"
    if rest:
        from fairexp.charts.style import display_name

        least = min(rest, key=lambda name: rest[name])
        second += f"; of the others {display_name(least)} came closest, with a gap of up to {_round(rest[least])}"
    return [first, f"{second}."]


class Within(NamedTuple):
    """The share of rounds within the tolerance, and whether no ranking could have been in any of the others."""

    share: float
    others_could_not: bool

    @property
    def excuse(self) -> str:
        return " (in the rest no ranking of the candidates could)" if self.share < 1 and self.others_could_not else ""


def share_within(folders: Sequence[Path], tolerance: float) -> Within:
    """Judge all rounds of these runs by their traces."""
    from pyarrow import parquet

    from fairexp.fairness import IMPOSSIBLE, LEAST
    from fairexp.fairness.ledger import within
    from fairexp.simulation.meter import PROOF
    from fairexp.simulation.result import TRACE

    n_rounds = n_within = n_excused = 0
    for folder in folders:
        trace = parquet.read_table(folder / TRACE, columns=[UF.name, PROOF])
        gaps, proofs = (trace[name].to_pylist() for name in (UF.name, PROOF))
        beyond = [not within(gap, tolerance) for gap in gaps]
        n_rounds += len(gaps)
        n_within += len(gaps) - sum(beyond)
        n_excused += sum(out and proof in (LEAST, IMPOSSIBLE) for out, proof in zip(beyond, proofs, strict=True))
    return Within(n_within / n_rounds, n_within + n_excused == n_rounds)


def facts(run: RunSettings, *, n_seeds: int) -> list[Fact]:
    """What the words mean and how the runs were made."""
    from fairexp.charts import Fact

    seeds = f"{n_seeds} seeds; bands span them" if n_seeds > 1 else "one seed"
    return [
        Fact(ONLINE_NDCG.name, f"{ONLINE_NDCG.definition} The chart shows {MEAN_ONLINE_NDCG}."),
        Fact(HELDOUT_NDCG.name, HELDOUT_NDCG.definition),
        Fact("NDCG, online and held out", f"{_sentence(IRRELEVANT[run.irrelevant])}."),
        Fact(f"{UF} (unfairness)", f"{UF.definition} The dotted line of the chart is the largest so far."),
        Fact(
            "Tolerance",
            "The gap that FairExp is told to stay within in every round. A round in which no ranking of the candidates "
            "is found that does is not qualified, and gets the least unfair one found.",
        ),
        Fact(MEAN_ADDED_REGRET.name, MEAN_ADDED_REGRET.definition),
        Fact(
            "Runs",
            f"{run.rounds:,} rounds, {seeds}; synthetic world {run.data.source} with the shape of MSLR-WEB10K; "
            f"{run.user} users; exposure 1/position; groups by PageRank, owed exposure by their average utility.",
        ),
    ]


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]


def _round(gap: float) -> str:
    """Enough digits to be honest, few enough to read."""
    return f"{gap:,.0f}" if gap >= 10 else f"{gap:.2g}"
