"""What commands print: tables, summaries of runs, verdicts, and the text of the demo."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from fairexp.measures import (
    FIELD,
    FINAL_UF,
    HELDOUT_NDCG,
    IRRELEVANT,
    MAX_UF,
    MEAN_ADDED_REGRET,
    MEAN_MISORDERED,
    MEAN_ONLINE_NDCG,
    MEAN_UF,
    MISSING,
    ONLINE_NDCG,
    QUALIFIED_SHARE,
    SPEED,
    UF,
    ZERO,
    Measure,
    share_text,
)

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from fairexp.charts import Fact
    from fairexp.lab.experiments.frontier.verdicts import Frontier
    from fairexp.lab.experiments.paper.judgement import Finding
    from fairexp.lab.experiments.paper.results import Results
    from fairexp.lab.simulation import Result
    from fairexp.lab.simulation.settings import RunSettings
    from fairexp.statistics import Effect


BASE = "pairrank"
WIDTH = 100


class Column(NamedTuple):
    """A heading, the cell of a summary, and when to leave it out of a narrow terminal (the highest goes first)."""

    heading: str
    cell: Callable[[Summary], str]
    spare: int = 0


def output_console() -> Console:
    """Stdout; `WIDTH` wide where that is no terminal."""
    from rich.console import Console

    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=WIDTH)


def print_tables(console: Console, summaries: Sequence[Summary]) -> None:
    """Print one table for each kind of user."""
    for user in dict.fromkeys(summary.user for summary in summaries):
        lines = [line for line in summaries if line.user == user]
        console.print(comparison(lines, width=console.width))
        if lines[0].of_the_field:
            console.print(field_table(lines))


def field_table(summaries: Sequence[Summary]) -> Table:
    """The measures of the field that were asked for: a line each, because names are long, and a column a ranker."""
    from rich import box
    from rich.table import Table

    seeds = max(line.n_seeds for line in summaries)
    title = "Fairness as the field measures it" + ("; ± is a 95% interval over seeds" if seeds > 1 else "")
    table = Table(title=title, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), title_justify="left", pad_edge=False)
    table.add_column("measure", no_wrap=True)
    table.add_column("better")
    for line in summaries:
        table.add_column(line.ranker, justify="right")
    for measure in summaries[0].of_the_field:
        cells = (measure.text(line.value(measure), line.half_width(measure)) for line in summaries)
        table.add_row(measure.name, measure.better, *cells)
    return table


def comparison(summaries: Sequence[Summary], *, width: int = WIDTH) -> Table:
    """The table of the summaries of one user; columns that `width` has no room for are left out."""
    from rich.console import Console

    console = Console(width=10 * WIDTH)
    columns = _columns(summaries)
    while True:
        table = _table(summaries, columns)
        spare = max(columns, key=lambda column: column.spare)
        if console.measure(table).maximum <= width or spare.spare == 0:
            return table
        columns.remove(spare)


def cells(summaries: Sequence[Summary]) -> tuple[list[str], list[list[str]]]:
    """The headings and the lines of the whole table as text, for a page without bounds."""
    columns = _columns(summaries)
    headings = [column.heading.replace("\n/", "/").replace("\n", " ") for column in columns]
    return headings, [[column.cell(line) for column in columns] for line in summaries]


def _columns(summaries: Sequence[Summary]) -> list[Column]:
    base = next((line for line in summaries if line.ranker == BASE), summaries[0])
    rounds = {line.rounds for line in summaries}
    columns = [
        Column("ranker", lambda line: line.ranker),
        _column(ONLINE_NDCG, lambda line: ONLINE_NDCG.text(line.value(ONLINE_NDCG), line.half_width(ONLINE_NDCG))),
        Column(f"% of\n{'first' if base.ranker != BASE else BASE}", lambda line: _percent(line, base), spare=2),
        _column(HELDOUT_NDCG),
        _column(MAX_UF),
        _column(MEAN_UF, spare=3),
        _column(FINAL_UF, spare=4),
        _column(QUALIFIED_SHARE, spare=1),
        _column(MEAN_ADDED_REGRET, _added_regret, spare=2),
        _column(SPEED, spare=5),
    ]
    if len(rounds) > 1:  # an interrupt: lines of unequal length must not pass for comparable
        columns.insert(1, Column("rounds", lambda line: f"{line.rounds:,}"))
    return columns


def _table(summaries: Sequence[Summary], columns: Sequence[Column]) -> Table:
    from rich import box
    from rich.table import Table

    first = summaries[0]
    seeds = max(line.n_seeds for line in summaries)
    longest = max(line.rounds for line in summaries)
    title = f"{first.user} user, {longest:,} rounds, {seeds} seed{'s' if seeds > 1 else ''}"
    told = [f"± is a 95% interval over seeds; {MAX_UF} is over all seeds"] if seeds > 1 else []
    caption = "\n".join([*told, f"NDCG: {IRRELEVANT[first.irrelevant]}"])
    table = Table(
        title=title, caption=caption, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), title_justify="left", pad_edge=False
    )
    for number, column in enumerate(columns):
        table.add_column(column.heading, justify="right" if number else "left", no_wrap=True, overflow="ellipsis")
    for line in summaries:
        style = None if line.value(QUALIFIED_SHARE) is None else "bold"
        table.add_row(*(column.cell(line) for column in columns), style=style)
    return table


def _column(measure: Measure, cell: Callable[[Summary], str] | None = None, *, spare: int = 0) -> Column:
    """A column under the measure's own name, in as many lines as it has words."""
    heading = measure.name.replace(" ", "\n").replace("/", "\n/")
    return Column(heading, cell or (lambda line: measure.text(line.value(measure))), spare)


def _added_regret(line: Summary) -> str:
    """Nothing where no round can be qualified: such a ranker reverses nothing for fairness because it knows none."""
    known = line.value(QUALIFIED_SHARE) is not None
    return MEAN_ADDED_REGRET.text(line.value(MEAN_ADDED_REGRET) if known else None)


def _percent(line: Summary, base: Summary) -> str:
    own, other = line.value(ONLINE_NDCG), base.value(ONLINE_NDCG)
    return f"{100 * own / other:.1f}" if own is not None and other and line.rounds == base.rounds else MISSING


MEANS = (
    ONLINE_NDCG,
    HELDOUT_NDCG,
    MEAN_UF,
    FINAL_UF,
    QUALIFIED_SHARE,
    MEAN_ADDED_REGRET,
    MEAN_MISORDERED,
    SPEED,
)


@dataclass(frozen=True)
class Summary:
    """One ranker with one kind of user. `means` holds None where a measure does not apply.

    `max_unfairness` is the largest of any seed; `rounds` the fewest of any seed, which an interrupt may have cut;
    `irrelevant` the rule of its NDCG.
    """

    ranker: str
    user: str
    n_seeds: int
    rounds: int
    means: dict[Measure, Effect | None]
    max_unfairness: float | None
    irrelevant: str = ZERO

    def value(self, measure: Measure) -> float | None:
        """The mean over seeds, of unfairness at its largest the largest."""
        if measure == MAX_UF:
            return self.max_unfairness
        found = self.means.get(measure)
        return None if found is None else found.mean

    def half_width(self, measure: Measure) -> float | None:
        """Half the width of the mean's 95% interval; None for a single seed."""
        found = self.means.get(measure)
        return None if found is None else found.half_width

    @property
    def of_the_field(self) -> tuple[Measure, ...]:
        """The measures of the field that were asked for."""
        return tuple(measure for measure in self.means if measure in FIELD)


def summarise(runs: Sequence[RunSettings], results: Sequence[Result | None]) -> list[Summary]:
    """A summary for each ranker and user, in the order of `runs`; runs that never began are left out."""
    together: dict[tuple[str, str], list[Result]] = {}
    rule = runs[0].irrelevant if runs else ZERO
    for run, result in zip(runs, results, strict=True):
        if result is not None and result.rounds:
            together.setdefault((run.ranker, run.user), []).append(result)
    return [_sum_up(ranker, user, group, rule) for (ranker, user), group in together.items()]


def _sum_up(ranker: str, user: str, results: Sequence[Result], irrelevant: str) -> Summary:
    from fairexp.statistics import effect

    means: dict[Measure, Effect | None] = {}
    for measure in (*MEANS, *(extra for extra in FIELD if extra in results[0].measures)):
        values = [value for result in results if (value := result[measure]) is not None]
        means[measure] = effect(values) if len(values) == len(results) else None
    return Summary(
        ranker=ranker,
        user=user,
        n_seeds=len(results),
        rounds=min(result.rounds for result in results),
        means=means,
        max_unfairness=max((value for result in results if (value := result[MAX_UF]) is not None), default=None),
        irrelevant=irrelevant,
    )


def write_summary(path: Path, summaries: Sequence[Summary]) -> None:
    """Write the summaries as CSV: each mean with its half width beside it; empty where there is none."""
    measures = (*MEANS, *(summaries[0].of_the_field if summaries else ()))
    columns = [name for mean in measures for name in (mean.name, f"{mean} half width")]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["user", "ranker", "seeds", "rounds", "irrelevant", MAX_UF.name, *columns])
        for line in summaries:
            cells = [cell for mean in measures for cell in (line.value(mean), line.half_width(mean))]
            writer.writerow(
                [line.user, line.ranker, line.n_seeds, line.rounds, line.irrelevant, line.max_unfairness, *cells]
            )


def print_claims(console: Console, findings: Sequence[Finding]) -> None:
    """Print one line for each claim."""
    from rich import box
    from rich.table import Table

    from fairexp.lab.experiments.paper.judgement import CONTRADICTED, SUPPORTED, UNDECIDED

    table = Table(title="The paper's findings, by number of settings", box=box.SIMPLE_HEAD, title_justify="left")
    table.add_column("finding")
    for heading in ("supported", "contradicted", "undecided"):
        table.add_column(heading, justify="right")
    for claim in dict.fromkeys(one.claim for one in findings):
        own = [one.verdict for one in findings if one.claim is claim]
        counts = [own.count(verdict) for verdict in (SUPPORTED, CONTRADICTED, UNDECIDED)]
        style = "yellow" if counts[1] else None
        table.add_row(claim.statement, *(str(count) if count else "" for count in counts), style=style)
    console.print(table)


STYLES = {"ahead": "green", "behind": "red", "not reached": "red"}


def print_frontiers(console: Console, results: Results, found: Sequence[Frontier]) -> None:
    """Print, for each setting, the levels of largest unfairness and how the other measures come out."""
    from rich import box
    from rich.table import Table

    from fairexp.charts.style import display_name
    from fairexp.lab.experiments.frontier.verdicts import told_measures
    from fairexp.lab.experiments.report.frontier_section import cell_text, difference_text, held_text, summary
    from fairexp.measures import MAX_UF, ONLINE_NDCG

    for one in found:
        if one.measure != MAX_UF or not one.verdicts:
            continue
        reference = display_name(one.lines[0].ranker)
        title = f"{results.title(one.setting)}: {reference} at the largest unfairness of each rival"
        table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False, padding=(0, 1, 0, 0))
        for heading in ("rival", "its trade-off", MAX_UF.name, "its NDCG", reference, "difference", ""):
            table.add_column(heading, justify="left" if heading in ("rival", "") else "right", no_wrap=True)
        named = ""
        for each in one.verdicts:
            name = display_name(each.rival)
            table.add_row(
                "" if name == named else name,
                "" if each.point.value is None else f"{each.point.value:g}",
                MAX_UF.text(each.point.gap.mean),
                ONLINE_NDCG.text(each.point.quality.mean),
                ONLINE_NDCG.text(each.reference),
                difference_text(each.difference),
                each.verdict,
                style=STYLES.get(each.verdict),
            )
            named = name
        console.print(table)
        console.print(f"Holds the frontier: {held_text(one)}", markup=False, soft_wrap=True)
        for other in found:
            if other.setting != one.setting or other.measure == MAX_UF:
                continue
            told = [
                f"{display_name(line.ranker)} {cell_text([v for v in other.verdicts if v.rival == line.ranker])[0]}"
                for line in other.lines[1:]
                if other.measure in told_measures(results, line.ranker)
            ]
            if told:
                console.print(f"By {other.measure}: {'; '.join(told)}", markup=False, soft_wrap=True)
        console.print()
    if found:
        console.print(summary(found), markup=False, soft_wrap=True, style="bold")


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
    from fairexp.lab.simulation.meter import PROOF
    from fairexp.lab.simulation.result import TRACE

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
