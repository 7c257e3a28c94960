"""From an experiment to its runs: first those that parameters are chosen by, then all seeds of the chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairexp.lab.experiments.plan.prepared import Prepared
from fairexp.lab.experiments.plan.run import Run, paired_seed, user_name
from fairexp.lab.experiments.plan.spec import Experiment, Parameters
from fairexp.lab.experiments.plan.sweeps import sweep_users, sweeps
from fairexp.lab.simulation.recorder import Recording
from fairexp.lab.simulation.settings import RunSettings

Folds = Mapping[tuple[str, int], Prepared]
Place = tuple[str, str, int, str]
"""Data, user, fold, ranker: where parameters are chosen once."""
Chosen = Mapping[Place, Parameters]
TUNING, FINAL = "choosing parameters", "final runs"
"""The two stages."""


def places(experiment: Experiment) -> list[Place]:
    """Every data set, user, fold and ranker."""
    return [
        (data, user, fold, ranker)
        for data, spec in experiment.data.items()
        for fold in spec.fold_list
        for user in experiment.users
        for ranker in experiment.rankers
    ]


def tuning_runs(experiment: Experiment, folds: Folds) -> list[Run]:
    """The grid of every ranker that has a choice, with seeds of their own.

    Were a choice made by runs that count later, the luck that it was made by would count too, and most for the ranker
    with the largest grid.
    """
    return [
        make_run(experiment, folds, place, parameters, seed, tuning=True)
        for place in places(experiment)
        if len(choices := experiment.rankers[place[3]].choices()) > 1
        for parameters in choices
        for seed in range(experiment.tuning.seeds)
    ]


def final_runs(experiment: Experiment, folds: Folds, chosen: Chosen) -> list[Run]:
    """All seeds of the chosen parameters, and the sweep; places without a choice made are left out."""
    runs = {}
    for place in places(experiment):
        if place not in chosen:
            continue
        for seed in experiment.seed_list:
            for parameters in [chosen[place], *swept(experiment, place, chosen[place])]:
                run = make_run(experiment, folds, place, parameters, seed)
                runs[run.id] = run
    return list(runs.values())


def swept(experiment: Experiment, place: Place, chosen: Parameters) -> list[Parameters]:
    """The chosen parameters with each value of the sweep, where the sweep takes place."""
    sweep = sweeps(experiment).get(place[3])
    if sweep is None or user_name(place[1]) not in sweep_users(experiment):
        return []
    own = chosen.get(sweep.parameter)
    return [{**chosen, sweep.parameter: own if own == value else value} for value in sweep.values]


def make_run(
    experiment: Experiment,
    folds: Folds,
    place: Place,
    parameters: Mapping[str, Any],
    seed: int,
    *,
    tuning: bool = False,
) -> Run:
    """The run at one place with these parameters; for `tuning`, random numbers and rounds are those of choosing."""
    data, user, fold, ranker = place
    prepared = folds[data, fold]
    rounds = experiment.data[data].rounds or experiment.rounds
    if tuning:
        rounds = min(experiment.tuning.rounds or rounds, rounds)
    settings = RunSettings(
        ranker=experiment.rankers[ranker].ranker,
        parameters=dict(parameters),
        data=prepared.settings,
        user=user,
        stop_after=experiment.stop_after,
        rounds=rounds,
        seed=paired_seed(seed, fold, tuning=tuning),
        length=experiment.length,
        exposure=prepared.exposure[user],
        shares=prepared.shares,
        n_points=experiment.n_points,
        validate=experiment.needs_validation,
        irrelevant=experiment.irrelevant,
        recording=Recording(measures=tuple(experiment.measures)),
    )
    return Run(data, user_name(user), fold, ranker, dict(parameters), seed, settings, prepared.fingerprint, tuning)


def choose(experiment: Experiment, runs: Sequence[Run], scores: Mapping[str, float | None]) -> dict[Place, Parameters]:
    """For every place the parameters with the highest mean of `scores` (validation NDCG by run key).

    A choice with a run missing does not stand for election; of equals the first in the grid wins. Rankers without a
    choice keep what they have, and a place where nothing can be chosen is left out.
    """
    found: dict[Place, Parameters] = {}
    grouped: dict[Place, dict[str, list[Run]]] = {}
    for run in runs:
        place = (run.data, run.settings.user, run.fold, run.ranker)
        grouped.setdefault(place, {}).setdefault(repr(sorted(run.parameters.items())), []).append(run)
    for place in places(experiment):
        choices = experiment.rankers[place[3]].choices()
        if len(choices) == 1:
            found[place] = choices[0]
            continue
        means = {}
        for number, group in enumerate(grouped.get(place, {}).values()):
            values = [scores.get(run.key) for run in group]
            if None not in values:
                means[number] = (sum(v for v in values if v is not None) / len(values), dict(group[0].parameters))
        if means:
            best = max(means, key=lambda number: (means[number][0], -number))
            found[place] = means[best][1]
    return found
