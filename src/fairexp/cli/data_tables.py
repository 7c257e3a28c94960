"""What a data set is like, as tables: sizes and grades, groups, what they are owed, and how far that is possible."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.table import Table

from fairexp.errors import ArgumentError
from fairexp.lab.data import Dataset, describe, group_shares, group_table
from fairexp.lab.data.describe import SHARE_RULES

if TYPE_CHECKING:
    from fairexp.fairness.feasibility import Feasibility, Remedy


def sizes(data: Dataset) -> Table:
    """Sizes and grades."""
    table = _table("", "", title=data.name)
    table.show_header = False
    for row in describe(data):
        table.add_row(*row)
    return table


def groups(data: Dataset) -> Table:
    """The paper's table of groups."""
    table = _table("group", "", ">size", ">share", ">average utility", ">total utility", title="Groups")
    for number, row in enumerate(group_table(data)):
        cells = (f"{row.size:,}", f"{row.share:.2%}", f"{row.average_utility:.4f}", f"{row.total_utility:,}")
        table.add_row(str(number), row.name, *cells)
    return table


def owed(data: Dataset) -> Table:
    """The shares by each rule and, for two groups, the beta that they make."""
    beta = [">beta"] if data.n_groups == 2 else []
    table = _table("by", "shares", *beta, title="Exposure that each rule asks for")
    for rule in SHARE_RULES:
        try:
            shares = group_shares(data, by=rule)
        except ArgumentError:  # a group without a single relevant document
            table.add_row(rule.replace("_", " "), "undefined: a group would get nothing")
            continue
        ratio = [f"{shares[0] / shares[1]:.3f}"] if len(shares) == 2 else []
        table.add_row(rule.replace("_", " "), " : ".join(f"{share:.3f}" for share in shares), *ratio)
    return table


def possible(told: Feasibility, names: Sequence[str], *, asked: str) -> list[Table]:
    """How far fairness is possible: by group, and in all; `asked` says of which lists and shares this is."""
    by_group = _table(
        "group", "", ">queries without it", ">owed", ">can get at most", title=f"Can exposure be fair? For {asked}"
    )
    rows = zip(names, told.without, told.owed, told.most, strict=True)
    for number, (name, without, share, most) in enumerate(rows):
        by_group.add_row(str(number), name, f"{without:.1%}", f"{share:.1%}", f"{most:.1%}")
    least = "not known for so many groups" if told.least_tolerance is None else f"{told.least_tolerance:.3g}"
    in_all = _table("", "")
    in_all.show_header = False
    in_all.add_row("queries with candidates of one group only", f"{told.one_group:.1%}")
    in_all.add_row("smallest tolerance that the exposure curve allows", least)
    in_all.add_row(f"rounds that can keep a tolerance of {told.tolerance:g}", f"about {told.qualified:.1%}")
    return [by_group, in_all]


def remedies(found: Sequence[Remedy]) -> Table:
    """What could be done, and what each thing would bring."""
    table = _table("with", ">rounds that keep the tolerance", title="What it would take, each by itself")
    for each in found:
        table.add_row(each.what, f"about {each.qualified:.1%}")
    return table


def _table(*headings: str, title: str | None = None) -> Table:
    """A table with these headings; > before one aligns its column to the right."""
    table = Table(title=title)
    for heading in headings:
        table.add_column(heading.removeprefix(">"), justify="right" if heading.startswith(">") else "left")
    return table
