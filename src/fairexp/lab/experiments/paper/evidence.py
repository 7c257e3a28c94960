"""What claims rest on: comparisons between rankers, tolerances, groupings and parts of a run."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

from fairexp.charts.style import display_name
from fairexp.fairness import UNPROVEN
from fairexp.lab.experiments.paper.groupings import Groupings
from fairexp.lab.experiments.paper.judgement import Part
from fairexp.lab.experiments.paper.results import Played, Results
from fairexp.lab.simulation.result import PROOFS
from fairexp.measures import FINAL_UF, MEAN_ADDED_REGRET, MEAN_HELDOUT_NDCG, TOTAL_ADDED_REGRET, Measure
from fairexp.statistics import Effect, Pair, paired_difference, paired_log_ratio

HOST, FAIR, CONTROLLER, GRADIENT, RANDOM = "pairrank", "fairexp-pairrank", "fairco", "pdgd", "dbgd"
PAPER = (HOST, FAIR, CONTROLLER, GRADIENT, RANDOM)
"""The rankers that the paper speaks of, as the registry calls them: other rankers of an experiment decide no claim."""
UNCONSTRAINED = (HOST, GRADIENT, RANDOM)
SAME = 1.25
"""Two amounts count as the same where neither is more than this many times the other."""
PAPER_TOLERANCES = (0.05, 0.1)
TOLERANCE = "tolerance"

Parts = Callable[[Results, str], Sequence[Part | None]]


def comparable_groupings(results: Results) -> list[str]:
    """Where two groupings of the same data can be compared under the same users, each as `Groupings` prints it."""
    families: dict[str, list[str]] = {}
    for label, spec in results.experiment.data.items():
        if spec.family is not None:
            families.setdefault(spec.family, []).append(label)
    users = dict.fromkeys(setting.rpartition("/")[2] for setting in results.settings)
    found = []
    for labels in families.values():
        for pair in combinations(labels, 2):
            uneven, even = sorted(pair, key=lambda label: -_largest_share(results, label))
            pairs = [Groupings(uneven, even, user) for user in users]
            found += [str(pair) for pair in pairs if all(each in results.settings for each in pair.settings)]
    return found


def _largest_share(results: Results, label: str) -> float:
    shares: list[float] = [
        group["share"] for row in results.overview["folds"] if row["data"] == label for group in row["groups"]
    ]
    return max(shares)


def more(first: str, seconds: Sequence[str], measure: Measure) -> Parts:
    """`first` above each of `seconds`."""
    return lambda results, setting: [
        _compared(results, setting, (first, other), measure, name=f"against {display_name(other)}") for other in seconds
    ]


def others(first: str, measure: Measure, *, lowest: bool = False) -> Parts:
    """`first` above every other ranker of the paper that takes part, or below with `lowest`."""

    def parts(results: Results, setting: str) -> list[Part | None]:
        found = []
        for other in PAPER:
            ordered = (other, first) if lowest else (first, other)
            if other != first:
                found.append(_compared(results, setting, ordered, measure, name=f"against {display_name(other)}"))
        return found

    return parts


def _compared(results: Results, setting: str, rankers: tuple[str, str], measure: Measure, *, name: str) -> Part | None:
    found = _by_pair(results, setting, rankers, measure)
    return None if found is None else Part(name, found, scale_of(measure))


def scale_of(measure: Measure) -> str:
    """How two values of the measure are compared: by "ratio" or "difference"."""
    return "ratio" if measure.by_ratio else "difference"


def compared(
    results: Results, setting: str, measure: Measure, first: Mapping[Pair, float], second: Mapping[Pair, float]
) -> Effect | None:
    """How much more of the measure `first` has, pair by pair, on its scale; ratios as logarithms."""
    compare = paired_log_ratio if measure.by_ratio else paired_difference
    return compare(first, second, results.shared(setting, measure))


def not_fair(results: Results, setting: str) -> list[Part | None]:
    """How far above the tolerance the gap ends: as a difference, since a gap that ends at 0 has no logarithm."""
    tolerance = results.tolerance_of(results.label_of(FAIR))
    gaps = _values(results, setting, RANDOM, FINAL_UF)
    found = results.effect(setting, {pair: gap - tolerance for pair, gap in gaps.items()}, FINAL_UF)
    return [None if found is None else Part(f"against the tolerance of {tolerance:g}", found)]


def faster_is_less_fair(results: Results, setting: str) -> list[Part | None]:
    """For every two rankers without fairness: how much larger the gap is in which the faster learner ends.

    That one learns faster must be as sure as that one is less fair: the larger of the two p-values counts.
    """
    parts: list[Part | None] = []
    for one, two in combinations(UNCONSTRAINED, 2):
        learned = _by_pair(results, setting, (one, two), MEAN_HELDOUT_NDCG)
        unfair = _by_pair(results, setting, (one, two), FINAL_UF)
        if learned is None or unfair is None:
            continue
        faster, slower, gap = (one, two, unfair) if learned.mean > 0 else (two, one, unfair.reversed())
        parts.append(
            Part(
                f"{display_name(faster)}, which learns faster, against {display_name(slower)}",
                gap,
                given=learned.p,
            )
        )
    return parts


def _by_pair(results: Results, setting: str, rankers: tuple[str, str], measure: Measure) -> Effect | None:
    one, two = (_values(results, setting, ranker, measure) for ranker in rankers)
    return compared(results, setting, measure, one, two)


def _values(results: Results, setting: str, ranker: str, measure: Measure) -> Mapping[Pair, float]:
    """A measure of a ranker of the registry, whatever the experiment calls it; nothing where it does not take part."""
    label = results.label_of(ranker)
    return {} if label is None else results.values(setting, label, measure)


def tolerances(measure: Measure, *, paper: bool = False) -> Parts:
    """More of `measure` at the larger tolerance: the paper's two, or the ends of the sweep."""

    def parts(results: Results, setting: str) -> list[Part | None]:
        sweep = results.experiment.sweep
        label = results.label_of(FAIR)
        if sweep is None or label is None or sweep.parameter != TOLERANCE or sweep.ranker != label:
            return []
        values = results.values_swept(label)
        small, large = PAPER_TOLERANCES if paper else (min(values, default=0.0), max(values, default=0.0))
        if small == large or not {small, large} <= set(values):
            return []
        ends = (results.swept(setting, value, measure, ranker=label) for value in (large, small))
        found = compared(results, setting, measure, *ends)
        return [None if found is None else Part(f"{large:g} against {small:g}", found, scale_of(measure))]

    return parts


def constant(results: Results, setting: str) -> list[Part | None]:
    """Added regret in the last third of the rounds over that in the middle third."""
    logs = {}
    for played in _fair_runs(results, setting):
        middle, last = added_regret(played, 1 / 3, 2 / 3), added_regret(played, 2 / 3, 1.0)
        if middle > 0 or last > 0:
            logs[played.pair] = math.log(max(last, 1e-3) / max(middle, 1e-3))
    found = results.effect(setting, logs, MEAN_ADDED_REGRET)
    return [None if found is None else Part("last third against middle third", found, "ratio", band=math.log(SAME))]


def learning_gap(results: Results, place: str) -> list[Part | None]:
    """How much more held-out NDCG fairness costs with the less balanced groups."""

    def cost(setting: str) -> dict[Pair, float]:
        own, host = (_values(results, setting, ranker, MEAN_HELDOUT_NDCG) for ranker in (FAIR, HOST))
        return {pair: host[pair] - own[pair] for pair in own if pair in host}

    uneven, even = Groupings.of(place).settings
    found = paired_difference(cost(uneven), cost(even), results.shared(uneven, MEAN_HELDOUT_NDCG))
    return [None if found is None else Part("loss, less against more balanced", found)]


def grouping_matters(results: Results, place: str) -> list[Part | None]:
    settings = Groupings.of(place).settings
    uneven, even = (_values(results, each, FAIR, MEAN_ADDED_REGRET) for each in settings)
    found = paired_difference(uneven, even, results.shared(settings[0], MEAN_ADDED_REGRET))
    return [None if found is None else Part("less against more balanced", found, two_sided=True)]


def exactly(results: Results, setting: str) -> list[Part | None]:
    runs = [run for run in _fair_runs(results, setting) if "rounds_beyond_qualified" in run.result]
    if not runs:
        return []
    wrong = sum(run.result["rounds_beyond_qualified"] + run.result["rounds_within_unqualified"] for run in runs)
    wrong += sum(run.result.get(PROOFS, {}).get(UNPROVEN, 0) for run in runs)
    rounds = sum(run.result["rounds"] for run in runs)
    return [Part("rounds", Effect(float(wrong), None, None, None, rounds), "count", exact=True)]


def _fair_runs(results: Results, setting: str) -> list[Played]:
    label = results.label_of(FAIR)
    return [run for run in results.main if run.setting == setting and run.ranker == label]


def added_regret(played: Played, start: float, end: float) -> float:
    """Certain orders reversed for fairness per round, between two shares of the rounds."""
    rounds, totals = played.points["round"], played.points[TOTAL_ADDED_REGRET.name]
    last = rounds[-1]
    known = list(zip([0, *rounds], [0, *totals], strict=True))
    first_at, first = max(one for one in known if one[0] <= start * last)
    final_at, final = max(one for one in known if one[0] <= end * last)
    return float((final - first) / max(final_at - first_at, 1))
