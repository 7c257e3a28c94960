"""The frontier in the report: who has more NDCG at the same unfairness, in words, tables and charts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fairexp.charts.style import display_name
from fairexp.lab.experiments.frontier.lines import own_measure
from fairexp.lab.experiments.frontier.verdicts import (
    AHEAD,
    BEHIND,
    NOT_REACHED,
    OPEN,
    Frontier,
    Verdict,
    above,
    counts,
    told_measures,
)
from fairexp.lab.experiments.paper.results import Results
from fairexp.lab.experiments.plan.sweeps import sweeps
from fairexp.lab.experiments.report.tables import anchor
from fairexp.measures import MAX_UF, MISSING, ONLINE_NDCG, Measure
from fairexp.statistics import Effect

RULE = (
    "Every fair ranker is swept over its own trade-off parameter. A rival is judged at each point of its own frontier "
    "(the points that no other of its own beats in both NDCG and unfairness): the reference's NDCG at that unfairness "
    "is interpolated between its two neighbouring measured points, linearly over the logarithm of unfairness, with the "
    "same weights for every run, and compared run by run (same queries, same coins). Beyond measured points nothing is "
    "extrapolated: where a rival is less fair than any point of the reference, the reference counts with the best that "
    "it has at less unfairness; where a rival is fairer than all, the reference does not reach it. Ahead and behind "
    "are paired t-tests at 5%, corrected after Holm for the points of a rival; the rest is undecided. The share of the "
    "frontier is that of the levels between the fairest and the least fair point, on the logarithmic scale, at which a "
    "ranker has the most NDCG by the means, sure or not."
)


@dataclass(frozen=True)
class Rival:
    """A rival in one setting: a cell of text and a class for each measure that it is judged by."""

    name: str
    cells: list[tuple[str, str]]


@dataclass(frozen=True)
class Level:
    """A verdict in the detailed table, as text."""

    verdict: str
    texts: tuple[str, ...]


@dataclass(frozen=True)
class SettingFrontier:
    """What the page shows of one setting: its charts, the rivals at a glance, and every level."""

    anchor: str
    title: str
    lead: str
    figures: list[str]
    more: list[str]
    headings: list[str]
    rivals: list[Rival]
    levels: list[tuple[str, list[Level]]]


@dataclass(frozen=True)
class FrontierSection:
    """The whole section; `summary` says in one sentence what came out."""

    rule: str
    summary: str
    settings: list[SettingFrontier]


def frontier_section(results: Results, found: Sequence[Frontier], figures: Sequence[str]) -> FrontierSection | None:
    """The section's contents; None where nothing was swept. `figures` are the ids of the page's charts."""
    if not found:
        return None
    by_setting: dict[str, list[Frontier]] = {}
    for one in found:
        by_setting.setdefault(one.setting, []).append(one)
    made = [_setting(results, setting, own, figures) for setting, own in by_setting.items()]
    return FrontierSection(RULE, summary(found), made)


def summary(found: Sequence[Frontier]) -> str:
    """One sentence on the largest unfairness, over all settings."""
    largest = [one for one in found if one.measure == MAX_UF]
    verdicts = [each for one in largest for each in one.verdicts]
    if not verdicts:
        return "Only one fair ranker was swept: there is nothing to compare it with."
    name = display_name(largest[0].lines[0].ranker)
    behind = [each for each in verdicts if each.difference is None or each.difference.mean < 0]
    where = f" It is not at: {_places(behind)}." if behind else ""
    return (
        f"On largest unfairness {name} has at least the NDCG of its rivals at {above(verdicts)} of {len(verdicts)} "
        f"levels that they reach ({_counted(verdicts)}).{where}"
    )


def held_text(one: Frontier) -> str:
    """Who holds the frontier, the largest part first.

    Those that hold nothing are not named.
    """
    held = sorted((each for each in one.held if each.share > 0), key=lambda each: -each.share)
    return ", ".join(f"{display_name(each.ranker)} {100 * each.share:.0f}%" for each in held)


def cell_text(verdicts: Sequence[Verdict]) -> tuple[str, str]:
    """A rival on one measure: at how many of its levels the reference has at least its NDCG, and what of that is sure;
    and the worst of the verdicts."""
    if not verdicts:
        return MISSING, ""
    found = counts(verdicts)
    kind = BEHIND if found[BEHIND] or found[NOT_REACHED] else AHEAD if found[AHEAD] == len(verdicts) else OPEN
    sure = ", ".join(f"{found[each]} {each}" for each in (AHEAD, BEHIND, NOT_REACHED) if found[each])
    return f"{above(verdicts)} of {len(verdicts)}" + (f" ({sure})" if sure else ""), kind


def difference_text(difference: Effect | None) -> str:
    """A difference in NDCG with its interval.

    >>> difference_text(Effect(1.25, 0.5, 2.0, 0.01, 3))
    '+1.2 [+0.5, +2.0]'
    """
    if difference is None:
        return MISSING
    ends = "" if difference.low is None else f" [{difference.low:+,.1f}, {difference.high:+,.1f}]"
    return f"{difference.mean:+,.1f}{ends}"


def measure_headings(measures: Sequence[Measure]) -> list[str]:
    return [measure.heading.lower() for measure in measures]


def _setting(results: Results, setting: str, own: Sequence[Frontier], figures: Sequence[str]) -> SettingFrontier:
    first = own[0]
    by_measure = {one.measure: one for one in own}
    rivals = [line.ranker for line in first.lines[1:]]
    measures = [measure for measure in by_measure if any(measure in told_measures(results, each) for each in rivals)]
    prefix = f"frontier-{anchor(setting)}"
    held = held_text(first)
    return SettingFrontier(
        anchor=prefix,
        title=results.title(setting),
        lead=f"Holds the frontier of {first.measure.heading.lower()}: {held}.",
        figures=[name for name in figures if name == prefix],
        more=[name for name in figures if name.startswith(f"{prefix}-") and _is_measure(name, prefix, own)],
        headings=["rival", "fair to", *measure_headings(measures)],
        rivals=[_rival(results, each, [by_measure[one] for one in measures]) for each in rivals],
        levels=[(one.measure.heading, [_level(results, each) for each in one.verdicts]) for one in own if one.verdicts],
    )


def _is_measure(name: str, prefix: str, own: Sequence[Frontier]) -> bool:
    return name.removeprefix(f"{prefix}-") in {one.measure.name.replace(" ", "-") for one in own}


def _rival(results: Results, rival: str, own: Sequence[Frontier]) -> Rival:
    measure = own_measure(results, rival)
    cells = [(MISSING if measure is None else measure.heading.lower(), "left")]
    cells += [cell_text([each for each in one.verdicts if each.rival == rival]) for one in own]
    return Rival(display_name(rival), cells)


def _level(results: Results, one: Verdict) -> Level:
    swept = sweeps(results.experiment).get(one.rival)
    value = "" if swept is None or one.point.value is None else f"{swept.parameter} {one.point.value:g}"
    texts = (
        display_name(one.rival),
        value,
        one.measure.text(one.point.gap.mean, one.point.gap.half_width or None),
        ONLINE_NDCG.text(one.point.quality.mean, one.point.quality.half_width or None),
        ONLINE_NDCG.text(one.reference),
        difference_text(one.difference),
        one.verdict,
    )
    return Level(one.verdict, texts)


def _counted(verdicts: Sequence[Verdict]) -> str:
    found = counts(verdicts)
    return ", ".join(f"{n} {kind}" for kind, n in found.items() if n)


def _places(behind: Sequence[Verdict]) -> str:
    """The settings, rivals and levels, as few words as go."""
    by_place: dict[tuple[str, str], list[str]] = {}
    for one in behind:
        level = one.measure.text(one.point.gap.mean)
        told = f"{level} ({difference_text(one.difference) if one.difference else NOT_REACHED})"
        by_place.setdefault((one.setting, one.rival), []).append(told)
    return "; ".join(
        f"{setting}, {display_name(rival)} at {', '.join(levels)}" for (setting, rival), levels in by_place.items()
    )
