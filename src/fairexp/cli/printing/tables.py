"""The table that compares rankers: one line each, numbers right-aligned, never wider than the terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from fairexp.cli.printing.summary import Summary
from fairexp.measures import (
    FINAL_UF,
    HELDOUT_NDCG,
    IRRELEVANT,
    MAX_UF,
    MEAN_ADDED_REGRET,
    MEAN_UF,
    MISSING,
    ONLINE_NDCG,
    QUALIFIED_SHARE,
    SPEED,
    Measure,
)

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

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
