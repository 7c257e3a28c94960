"""`fairexp reproduce`: the paper's experiments in one command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from fairexp.cli import experiment_runs as experimenting
from fairexp.cli import options
from fairexp.cli.commands.experiment import On, PlanOnly, Records, ReportFolder, Retry, write_report
from fairexp.cli.options import parse_value
from fairexp.errors import ArgumentError
from fairexp.measures import ZERO

ALIASES = {"yahoo": "yahoo-set1", "mslr": "mslr-web10k"}
KEPT = "experiment.yaml"


Quick = Annotated[bool, typer.Option("--quick", help="Fewer rounds, seeds and choices; minutes instead of hours.")]
Folders = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=DIR",
        help="Where a collection lies: mslr-web10k and yahoo replace their synthetic stand-ins; any other LETOR "
        "set (with --group) is served instead of the paper's. Repeatable.",
    ),
]
Groups = Annotated[
    list[str] | None,
    typer.Option(metavar="RULE", help="How another set's documents are grouped, e.g. 41:0.4; repeatable."),
]
Beta = Annotated[
    str | None,
    typer.Option(
        metavar="RULE|NUMBER",
        help="What group 0 is owed per unit of group 1: average_utility (default), total_utility, size, equal, "
        "a number, or paper: the printed values.",
    ),
]
Rounds = Annotated[int | None, typer.Option(min=1, help="Queries served in each run.")]
Seeds = Annotated[int | None, typer.Option(min=1, help="Number of seeds.")]
Folds = Annotated[int | None, typer.Option(min=1, help="So many folds of every data set.")]


def reproduce(
    quick: Quick = False,
    data: Folders = None,
    group: Groups = None,
    beta: Beta = None,
    rounds: Rounds = None,
    seeds: Seeds = None,
    folds: Folds = None,
    user: options.Users = None,
    stop_after: options.StopAfter = None,
    irrelevant: options.Irrelevant = ZERO,
    out: Records = None,
    jobs: options.Jobs = None,
    on: On = "local",
    retry: Retry = False,
    plan: PlanOnly = False,
    report_folder: ReportFolder = None,
) -> None:
    """Repeat the paper's experiments, and judge each of its findings.

    Twelve settings, five rankers, their grids, folds and seeds, and the sweep over tolerances. Where no data is given,
    synthetic worlds of the same shape stand in, and every table says so. The same command resumes after a kill.
    """
    import yaml

    from fairexp.lab.experiments.plan.paths import seen_from, with_paths
    from fairexp.lab.experiments.plan.yaml_file import read_document, validated

    values = read_document("quick" if quick else "paper").values
    given = {"rounds": rounds, "seeds": seeds, "users": user, "stop_after": stop_after, "irrelevant": irrelevant}
    values.update({key: value for key, value in given.items() if value is not None})
    if beta is not None:
        values["beta"] = parse_value(beta)
    _place_data(values, data_folders(data or []), group or [], folds=folds)
    if rounds is not None:
        for spec in values["data"].values():
            spec.pop("rounds", None)
    _keep_sweep_users(values)
    experiment = validated(values)
    here = Path.cwd()  # what was typed is seen from here
    records = experimenting.open_records(experiment, out)
    if plan:
        experimenting.show_plan(experiment, records, folders=[here], on=on, jobs=jobs)
        return
    experimenting.check_report(report_folder)
    kept = with_paths(values, lambda key, path: seen_from(here, path))
    records.store.write(KEPT, yaml.safe_dump(kept, sort_keys=False, allow_unicode=True))
    experimenting.conduct_watched(experiment, records, folders=[here], on=on, jobs=jobs, retry=retry)
    write_report(records, report_folder)


def data_folders(given: list[str]) -> dict[str, str]:
    folders = {}
    for text in given:
        name, separator, folder = text.partition("=")
        if not separator or not name or not folder:
            raise ArgumentError("--data", repr(text), "NAME=DIR, such as mslr-web10k=/data/MSLR-WEB10K")
        if not Path(folder).is_dir():
            raise ArgumentError("--data", f"{text!r}, where there is no such folder", "a folder that exists")
        folders[ALIASES.get(name, name)] = folder
    return folders


def _place_data(values: dict[str, Any], folders: dict[str, str], groups: list[str], *, folds: int | None) -> None:
    """Put the folders into the paper's data sets, and other sets into their place."""
    paper = {spec["source"] for spec in values["data"].values()}
    others = {name: folder for name, folder in folders.items() if name not in paper}
    if others:
        kept = {label: spec for label, spec in values["data"].items() if spec["source"] in folders}
        values["data"] = kept
    elif groups:
        raise ArgumentError(
            "--group", ", ".join(groups), "nothing: the paper's data has its own groups", "Give --data."
        )
    for spec in values["data"].values():
        if spec["source"] in folders:
            spec["folder"] = folders[spec["source"]]
            spec.pop("rounds", None)
        if folds is not None:
            spec["folds"] = folds
    for name, folder in others.items():
        values["data"].update(other_set(name, folder, groups, folds))


def other_set(name: str, folder: str, groups: list[str], folds: int | None) -> dict[str, Any]:
    """A data set for each way to group it."""
    from fairexp.lab.data import COLLECTIONS

    known = COLLECTIONS.get(name)
    rules = groups or list(known.groups if known is not None else ())
    if not rules:
        raise ArgumentError("--group", "nothing", f"how the documents of {name} are grouped, e.g. 41:0.4")
    n_folds = folds or max(len(list(Path(folder).glob("Fold*"))), 1)
    title = known.title if known is not None else name
    return {
        f"{name}-{''.join(c if c.isalnum() or c in '.-' else '-' for c in rule)}": {
            "source": name,
            "folder": folder,
            "group": rule,
            "title": f"{title} by {rule}",
            "family": name,
            "folds": n_folds,
        }
        for rule in rules
    }


def _keep_sweep_users(values: dict[str, Any]) -> None:
    """The sweep's users must be among those that are served; where none is left, all are."""
    sweep = values.get("sweep")
    if sweep and sweep.get("users"):
        left = [user for user in sweep["users"] if user in values["users"]]
        values["sweep"] = {**sweep, "users": left or None}
