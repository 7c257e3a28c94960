"""`fairexp frontier`: fair rankers swept over their trade-offs, and compared at the same unfairness."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from fairexp.cli import experiment_runs as experimenting
from fairexp.cli import options
from fairexp.cli.commands.experiment import On, PlanOnly, Records, ReportFolder, Retry, write_report
from fairexp.cli.commands.reproduce import KEPT, data_folders, other_set
from fairexp.cli.options import numbers_or_name, parse_value, route
from fairexp.errors import ArgumentError

WORLDS = ("mslr-pagerank", "yahoo-9")
REFERENCE = "fairexp-pairrank"
RIVALS = ("offr-pairrank", "fairco", "fara", "mcfair", "mmf", "p-mmf", "offr", "xquad", "ears")
"""Every fair ranker but LP-Fair, whose rounds take a hundred times as long: it can be asked for."""
USERS = ("perfect", "navigational", "informational")
QUICK = {"users": ("informational",), "rounds": 200, "seeds": 3}
QUICK_VALUES = 3

DataSets = Annotated[
    list[str] | None,
    typer.Option(
        "--data",
        metavar="WORLD|NAME=DIR",
        help="A world (see `fairexp data list`), or where a collection or LETOR set lies; repeatable. Default: "
        f"{' and '.join(WORLDS)}.",
    ),
]
Groups = Annotated[
    list[str] | None, typer.Option(metavar="RULE", help="How a set's documents are grouped, e.g. 41:0.4; repeatable.")
]
Folds = Annotated[int, typer.Option(min=1, help="So many folds of every data set.")]
Rankers = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="A fair ranker (see `fairexp rankers`); repeatable, and the first is the one that others are judged "
        "against. Default: fairexp-pairrank and all rivals but lp-fair.",
    ),
]
Values = Annotated[
    list[str] | None,
    typer.Option(
        metavar="RANKER=NUMBERS",
        help="The values of a ranker's trade-off parameter, e.g. fairco=0,0.01,1; default: those that it declares. "
        "Repeatable.",
    ),
]
Rounds = Annotated[int | None, typer.Option(min=1, help="Queries served in each run; default: 1,000.")]
Seeds = Annotated[int | None, typer.Option(min=1, help="Number of seeds; default: 5.")]
Beta = Annotated[
    str, typer.Option(metavar="RULE|NUMBER", help="What group 0 is owed per unit of group 1, as for `reproduce`.")
]
Quick = Annotated[
    bool, typer.Option("--quick", help="One kind of users, 200 rounds, 3 seeds and 3 values of each ranker.")
]


def frontier(
    data: DataSets = None,
    group: Groups = None,
    folds: Folds = 1,
    queries: options.Queries = None,
    ranker: Rankers = None,
    values: Values = None,
    assignments: options.Assignments = None,
    user: options.Users = None,
    stop_after: options.StopAfter = None,
    rounds: Rounds = None,
    seeds: Seeds = None,
    length: options.Length = 10,
    exposure: options.Exposure = "reciprocal",
    beta: Beta = "equal",
    quick: Quick = False,
    out: Records = None,
    jobs: options.Jobs = None,
    on: On = "local",
    retry: Retry = False,
    plan: PlanOnly = False,
    report_folder: ReportFolder = None,
) -> None:
    """Sweep fair rankers over their trade-offs: who has more NDCG at the same unfairness.

    Each ranker is played with several values of its own trade-off parameter, on the same queries and with the same
    coins of the users. Then the first is compared with each rival at the unfairness that the rival reaches: the
    largest, mean and final gap, and what the rival is fair to itself. The same command resumes after a kill.
    """
    import yaml

    from fairexp.lab.experiments.plan.paths import seen_from, with_paths
    from fairexp.lab.experiments.plan.yaml_file import validated

    labels = list(dict.fromkeys(ranker or [REFERENCE, *RIVALS]))
    chosen = _values(values or [], labels, quick=quick)
    defaults = {"users": USERS, "rounds": 1000, "seeds": 5} | (QUICK if quick else {})
    given = {"users": user, "rounds": rounds, "seeds": seeds}
    settings: dict[str, Any] = {
        "name": "frontier",
        "title": "What fairness costs: fair rankers over their trade-offs",
        "data": _data_sets(data or list(WORLDS), group or [], folds=folds, queries=queries),
        "rankers": _rankers(labels, chosen, route(assignments or [], labels)),
        "sweep": {
            "ranker": labels[0],
            "parameter": _parameter(labels[0]),
            "values": chosen[labels[0]],
            "rivals": {label: chosen[label] for label in labels[1:]},
        },
        "length": length,
        "exposure": list(curve) if isinstance(curve := numbers_or_name(exposure), tuple) else curve,
        "beta": parse_value(beta),
        "n_points": 10,
        **{key: _plain(value if value is not None else defaults[key]) for key, value in given.items()},
    }
    if stop_after is not None:
        settings["stop_after"] = stop_after
    experiment = validated(settings)
    here = Path.cwd()  # what was typed is seen from here
    records = experimenting.open_records(experiment, out)
    if plan:
        experimenting.show_plan(experiment, records, folders=[here], on=on, jobs=jobs)
        return
    experimenting.check_report(report_folder)
    kept = with_paths(settings, lambda key, path: seen_from(here, path))
    records.store.write(KEPT, yaml.safe_dump(kept, sort_keys=False, allow_unicode=True))
    experimenting.conduct_watched(experiment, records, folders=[here], on=on, jobs=jobs, retry=retry)
    write_report(records, report_folder, claims=False)


def _data_sets(given: list[str], groups: list[str], *, folds: int, queries: int | None) -> dict[str, Any]:
    """Worlds by name, and sets in folders once for each way to group them."""
    found: dict[str, Any] = {}
    for text in given:
        if "=" in text:
            ((name, folder),) = data_folders([text]).items()
            found.update(other_set(name, folder, groups, folds))
        else:
            found[text] = {"source": text, "folds": folds}
    if queries is not None:
        for spec in found.values():
            spec["n_queries"] = queries
    return found


def _rankers(labels: list[str], values: dict[str, list[float]], given: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Each ranker with one of its values, which its other charts and tables are of: its default, or the nearest."""
    from fairexp.lab.simulation.environment import DEFAULTS
    from fairexp.registry import parameters_of

    made = {}
    for label in labels:
        parameter = _parameter(label)
        usual = parameters_of(label)[parameter].default
        usual = DEFAULTS.get(parameter) if not isinstance(usual, int | float) else usual
        nearest = values[label][0] if usual is None else min(values[label], key=lambda value: abs(value - usual))
        made[label] = {"ranker": label, "parameters": {**given[label], parameter: nearest}}
    return made


def _values(given: list[str], labels: list[str], *, quick: bool) -> dict[str, list[float]]:
    """The values of every ranker's trade-off: those given, or those that it declares (for `quick` fewer)."""
    from fairexp.registry import classes_of

    found = {}
    for label in labels:
        trade_off = classes_of(label)[0].trade_off
        if trade_off is None:
            expected = "a fair ranker, which has a trade-off"
            raise ArgumentError("--ranker", repr(label), expected, "See `fairexp rankers`.")
        own = list(trade_off.sweep)
        last = len(own) - 1
        few = [own[round(i * last / (QUICK_VALUES - 1))] for i in range(QUICK_VALUES)]
        found[label] = few if quick else own
    for text in given:
        label, _, numbers = text.partition("=")
        try:
            values = [float(number) for number in numbers.split(",")]
        except ValueError:
            values = []
        if label not in labels or not values:
            raise ArgumentError("--values", repr(text), f"RANKER=NUMBERS with one of {', '.join(labels)}")
        found[label] = sorted(set(values))
    return found


def _parameter(label: str) -> str:
    from fairexp.registry import classes_of

    trade_off = classes_of(label)[0].trade_off
    assert trade_off is not None
    return trade_off.parameter


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
