"""`fairexp experiment`: run, resume, watch and report experiments that are written down in YAML."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairexp.cli import experiment_runs as experimenting
from fairexp.cli import options
from fairexp.cli.printing import output_console

if TYPE_CHECKING:
    from fairexp.lab.experiments.run.records import Records as RecordsOf

app = typer.Typer(no_args_is_help=True, help="Run, resume, watch and report experiments that are written in YAML.")

File = Annotated[str, typer.Argument(metavar="FILE", help="A YAML file, or a built-in experiment: paper, quick.")]
Records = Annotated[
    str | None, typer.Option("--out", metavar="FOLDER|URL", help="Where records go; default: results/NAME.")
]
On = Annotated[str, typer.Option(metavar="local|ray[=ADDRESS]", help="Where runs are carried out.")]
Retry = Annotated[bool, typer.Option("--retry", help="Play runs that failed before once more.")]
PlanOnly = Annotated[bool, typer.Option("--plan", help="Only measure and say how long it would take.")]
ReportFolder = Annotated[
    Path | None, typer.Option("--report", help="Folder for the report; default: `report` beside the records.")
]


@app.command("resume", help="Go on with an experiment that was killed or interrupted: the same as `run`.")
@app.command("run")
def run(
    file: File,
    out: Records = None,
    jobs: options.Jobs = None,
    on: On = "local",
    retry: Retry = False,
    plan: PlanOnly = False,
    report_folder: ReportFolder = None,
) -> None:
    """Play every run of an experiment that has no record yet, and write the report.

    Killed or interrupted, the same command resumes. Seeds, rankers or data that are added to the file
    later are all that is played then.
    """
    from fairexp.lab.experiments.plan.yaml_file import read_experiment

    experiment, folders = read_experiment(file)
    records = experimenting.open_records(experiment, out, folders=folders)
    if plan:
        experimenting.show_plan(experiment, records, folders=folders, on=on, jobs=jobs)
        return
    experimenting.check_report(report_folder)
    experimenting.conduct_watched(experiment, records, folders=folders, on=on, jobs=jobs, retry=retry)
    write_report(records, report_folder)


@app.command()
def status(file: File, out: Records = None) -> None:
    """Say how many runs are done, failed and missing."""
    experimenting.show_status(_records(file, out))


@app.command()
def report(file: File, out: Records = None, report_folder: ReportFolder = None) -> None:
    """Write the report from the records that there are."""
    write_report(_records(file, out), report_folder, anew=True)


def _records(file: str, out: str | None) -> RecordsOf:
    from fairexp.lab.experiments.plan.yaml_file import read_experiment

    experiment, folders = read_experiment(file)
    return experimenting.open_records(experiment, out, folders=folders)


def write_report(records: RecordsOf, folder: Path | None, *, claims: bool = True, anew: bool = False) -> None:
    """Write the report to `folder`, or beside local records, and print the claims (or not) and the frontier.

    A report of the same records stays as it is unless `anew`.
    """
    from fairexp.cli.printing import print_claims, print_frontiers
    from fairexp.lab.experiments.report.report import write

    with experimenting.telling() as tell:
        written = write(records, folder or experimenting.report_folder(records), tell=tell, anew=anew)
    if claims and written.findings:
        print_claims(output_console(), written.findings)
    print_frontiers(output_console(), written.results, written.frontiers)
    output_console().print(f"Report: {written.page}", markup=False, soft_wrap=True, style="bold")
