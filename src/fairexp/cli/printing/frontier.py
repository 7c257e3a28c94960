"""The frontier in a terminal: for every setting, who has more NDCG at the unfairness of each rival."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from fairexp.experiments.claims.results import Results
    from fairexp.experiments.frontier.verdicts import Frontier

STYLES = {"ahead": "green", "behind": "red", "not reached": "red"}


def print_frontiers(console: Console, results: Results, found: Sequence[Frontier]) -> None:
    """Print, for each setting, the levels of largest unfairness and how the other measures come out."""
    from rich import box
    from rich.table import Table

    from fairexp.charts.style import display_name
    from fairexp.experiments.frontier.verdicts import told_measures
    from fairexp.experiments.report.frontier_section import cell_text, difference_text, held_text, summary
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
