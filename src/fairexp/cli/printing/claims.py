"""The claims table in a terminal: for each finding of the paper, how many settings support or contradict it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from fairexp.experiments.claims.judgement import Finding


def print_claims(console: Console, findings: Sequence[Finding]) -> None:
    """Print one line for each claim."""
    from rich import box
    from rich.table import Table

    from fairexp.experiments.claims.judgement import CONTRADICTED, SUPPORTED, UNDECIDED

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
