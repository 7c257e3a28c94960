"""The table that compares rankers: one line each, numbers right-aligned, never wider than the terminal."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from fairexp.cli.printing.summary import Summary

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

BASE = "pairrank"
WIDTH = 100
MISSING = "-"


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
        console.print(comparison([line for line in summaries if line.user == user], width=console.width))


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
    headings = [column.heading.replace("-\n", "").replace("\n", " ") for column in columns]
    return headings, [[column.cell(line) for column in columns] for line in summaries]


def _columns(summaries: Sequence[Summary]) -> list[Column]:
    base = next((line for line in summaries if line.ranker == BASE), summaries[0])
    rounds = {line.rounds for line in summaries}
    columns = [
        Column("ranker", lambda line: line.ranker),
        Column("online\nNDCG", lambda line: _online(line)),
        Column(f"% of\n{'first' if base.ranker != BASE else BASE}", lambda line: _percent(line, base), spare=2),
        Column("held\nout", lambda line: _mean(line, "offline_ndcg", ".3f")),
        Column("unfair\nlargest", lambda line: _gap(line.max_unfairness)),
        Column("unfair\nmean", lambda line: _gap(_value(line, "mean_unfairness")), spare=3),
        Column("unfair\nfinal", lambda line: _gap(_value(line, "final_unfairness")), spare=4),
        Column("quali-\nfied", lambda line: share(_value(line, "qualified_share")), spare=1),
        Column("added\nregret", lambda line: _added_regret(line), spare=2),
        Column("rounds\n/s", lambda line: _mean(line, "rounds_per_second", ",.0f"), spare=5),
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
    caption = "± is a 95% interval over seeds; unfairness largest is over all seeds" if seeds > 1 else None
    table = Table(
        title=title, caption=caption, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), title_justify="left", pad_edge=False
    )
    for number, column in enumerate(columns):
        table.add_column(column.heading, justify="right" if number else "left", no_wrap=True, overflow="ellipsis")
    for line in summaries:
        style = None if _value(line, "qualified_share") is None else "bold"
        table.add_row(*(column.cell(line) for column in columns), style=style)
    return table


def share(value: float | None) -> str:
    """A share in percent, rounded down: 100% means every single round.

    >>> share(1.0), share(0.9999), share(None)
    ('100%', '99.9%', '-')
    """
    if value is None:
        return MISSING
    return "100%" if value == 1 else f"{math.floor(value * 1000) / 10:.1f}%"


def _value(line: Summary, measure: str) -> float | None:
    found = line.measures[measure]
    return None if found is None else found.mean


def _mean(line: Summary, measure: str, form: str) -> str:
    value = _value(line, measure)
    return MISSING if value is None else format(value, form)


def _added_regret(line: Summary) -> str:
    """Nothing where no round can be qualified: such a ranker reverses nothing for fairness because it knows none."""
    return MISSING if _value(line, "qualified_share") is None else _mean(line, "mean_added_regret", ".2f")


def _online(line: Summary) -> str:
    online: Any = line.measures["online_ndcg"]
    spread = "" if online.half_width is None else f" ± {online.half_width:.1f}"
    return f"{online.mean:,.1f}{spread}"


def _percent(line: Summary, base: Summary) -> str:
    own, other = _value(line, "online_ndcg"), _value(base, "online_ndcg")
    return f"{100 * own / other:.1f}" if own is not None and other and line.rounds == base.rounds else MISSING


def _gap(value: float | None) -> str:
    """Three or four digits: gaps run from hundredths to tens of thousands."""
    if value is None:
        return MISSING
    return f"{value:,.2f}" if value < 100 else f"{value:,.1f}" if value < 1000 else f"{value:,.0f}"
