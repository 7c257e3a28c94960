"""`fairexp demo`: five rankers on an embedded world, a table, and a report with three charts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairexp.cli import options
from fairexp.cli.commands.simulate import report
from fairexp.cli.entry import error_console
from fairexp.cli.folders import make_room
from fairexp.cli.printing import Summary, cells, facts, output_console, reading, summarise
from fairexp.cli.progress import watch_runs

if TYPE_CHECKING:
    from fairexp.lab.simulation.settings import RunSettings

RANKERS = ("pairrank", "fairexp-pairrank", "fairco", "pdgd", "dbgd")
WORLD = "mslr-pagerank"
USER = "navigational"
"""Users whose clicks are noisy, as real ones are: neither the kindest nor the harshest of the paper's three."""
TOLERANCE = 0.1
FAST_ROUNDS = 100


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the report, the charts and the runs.")] = Path("demo"),
    rounds: Annotated[int, typer.Option(min=2, help="Queries served to each ranker.")] = 1000,
    seeds: Annotated[int, typer.Option(min=1, help="Number of seeds.")] = 4,
    fast: Annotated[bool, typer.Option("--fast", help=f"Only {FAST_ROUNDS} rounds and one seed.")] = False,
    overwrite: options.Overwrite = False,
    jobs: options.Jobs = None,
) -> None:
    """Watch five rankers learn, and see what fair exposure buys and what it costs.

    PairRank, FairExp-PairRank, FairCo, PDGD and DBGD serve a synthetic world of MSLR-WEB10K's shape.
    """
    from fairexp.charts.extra import altair, vl_convert

    altair(), vl_convert()  # refuse now rather than after the runs
    runs = demo_runs(FAST_ROUNDS if fast else rounds, 1 if fast else seeds)
    make_room(out / "runs", overwrite=overwrite)
    console = error_console()
    console.print(f"{len(runs)} runs of {runs[0].rounds:,} rounds on {WORLD}, {USER} user ...", markup=False)
    results = watch_runs(runs, folder=out / "runs", jobs=jobs, console=console)
    report(runs, results, out / "runs")
    page = write_report(runs, summarise(runs, results), out)
    output_console().print(f"Report: {page.resolve()}", markup=False, soft_wrap=True, style="bold")


def demo_runs(rounds: int, n_seeds: int) -> list[RunSettings]:
    """The runs of the demo: groups are owed exposure by their average utility, as in the paper."""
    from fairexp.lab.simulation.settings import DataSettings, RunSettings
    from fairexp.registry import keeps_tolerance

    return [
        RunSettings(
            ranker=name,
            parameters={"tolerance": TOLERANCE} if keeps_tolerance(name) else {},
            data=DataSettings(WORLD),
            user=USER,
            rounds=rounds,
            seed=seed,
            shares="average_utility",
        )
        for name in RANKERS
        for seed in range(n_seeds)
    ]


def write_report(runs: Sequence[RunSettings], summaries: Sequence[Summary], out: Path) -> Path:
    """Draw the charts, print and write the reading, and write `report.html`; its path."""
    from fairexp.charts import Manner, charts, report_html, save_charts
    from fairexp.charts.style import display_name
    from fairexp.lab.simulation.rows import read_rows

    folders = [out / "runs" / run.label for run in runs]
    rows = read_rows(folders)
    themes = {theme: charts(rows, Manner(theme), tolerance=TOLERANCE) for theme in ("light", "dark")}
    save_charts(themes["light"], out)
    lead = reading(runs, folders, summaries, tolerance=TOLERANCE)
    output_console().print(" ".join(lead), markup=False)
    headings, table = cells(summaries)
    page = out / "report.html"
    page.write_text(
        report_html(
            title="What fair exposure buys, and what it costs",
            lead=lead,
            charts=themes,
            headings=headings,
            table=[[display_name(line[0]), *line[1:]] for line in table],
            facts=facts(runs[0], n_seeds=len(runs) // len(RANKERS)),
        ),
        encoding="utf-8",
    )
    return page
