"""A policy at work: a ranker and its totals, which are a fold over the policy's log.

Whatever changes them here is an entry of the log, and every entry can be applied again: `rank` and `learn` make
entries, `show_again` and `learn_again` replay them, and both ways lead to the same bits.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fairexp.arrays import Floats, Ints, State
from fairexp.fairness.exposure import exposure_curve
from fairexp.rankers.base import Ranker
from fairexp.rankers.matching import NEW, Matching
from fairexp.service.engine.open_ranking import OpenRanking, Worth
from fairexp.service.engine.totals import Totals
from fairexp.service.items.counters import ItemCounters
from fairexp.service.log.records import Event, Feedback, Floats32, Shown, considered
from fairexp.service.policies.rankers import build_ranker, resolve_parameters
from fairexp.service.policies.scaling import DeclaredScale, RunningScale
from fairexp.service.policies.spec import PolicySpec
from fairexp.types import Belief, Query, Ranking


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """What a request asks to be ranked: `ids`, group numbers (n,) and features (n, d) as the policy declares them.

    `asked` is a digest of all that where the request has an id; `whole` says that the answer tells all candidates.
    A page that continues the ranking at the entry `after` begins at the position `first`, from 0.
    """

    ids: list[str]
    groups: Ints | None
    features: Floats32
    k: int | None = None
    context: dict[str, Any] = field(default_factory=dict)
    asked: str = ""
    whole: bool = False
    after: int | None = None
    first: int = 0

    def without(self, ids: Collection[str]) -> Candidates:
        """The same without those that an earlier page has shown."""
        kept = [place for place, name in enumerate(self.ids) if name not in ids]
        groups = None if self.groups is None else self.groups[kept]
        return replace(self, ids=[self.ids[place] for place in kept], groups=groups, features=self.features[kept])


class Runtime:
    """One version of a policy, serving. Not for several threads at once; the engine keeps them apart."""

    def __init__(
        self,
        spec: PolicySpec,
        ranker: Ranker,
        totals: Totals,
        *,
        parameters: dict[str, Any],
        version: int,
        generation: int,
        seq: int,
        specs: Mapping[int, PolicySpec],
        n_generations: int = 1,
    ) -> None:
        self.spec = spec
        self.ranker = ranker
        self.totals = totals
        self.parameters = parameters
        self.version = version
        self.generation = generation
        self.n_generations = n_generations
        """Which model this is, and how many there were: rankings of other models are not learned from."""
        self.seq = seq
        self.at = 0.0
        self.specs = {**specs, version: spec}
        """The policy by version, this one's included: rankings of earlier ones may still be learned from."""
        self._matched: dict[int, tuple[Matching, Floats]] = {}
        self.scaling = DeclaredScale(spec)
        self.scale = RunningScale.of(spec, rescaling=ranker.rescaling)
        self.curve: Floats = exposure_curve(spec.exposure, spec.depth)
        self.shares = spec.shares
        self.is_fair = ranker.keeps_tolerance
        self._by_increments = ranker.learns_by_increments
        self.columns = spec.requested
        self.counters = ItemCounters()
        self._kinds = [column.counter for column in spec.declared]
        self._counts = any(self._kinds)

    @staticmethod
    def new(spec: PolicySpec) -> tuple[Runtime, list[str]]:
        """The first version of a policy, and what its construction warned of."""
        parameters = resolve_parameters(spec)
        ranker, notes = build_ranker(spec, parameters)
        totals = Totals(spec.shares, length=spec.depth)
        runtime = Runtime(spec, ranker, totals, parameters=parameters, version=1, generation=1, seq=0, specs={})
        return runtime, notes

    def follow(self, before: Runtime) -> None:
        """Come after `before` in the log, as a version of its own, with a state that an earlier one ended with."""
        self.version, self.n_generations = before.version + 1, before.n_generations
        self.specs = {**before.specs, self.version: self.spec}
        self.seq, self.at = before.seq, before.at
        self.ranker.count_on(before.ranker)  # numbers of rankings go on: none is used twice

    def begin_generation(self) -> None:
        """Go on as a model of its own, which learns from none of the rankings so far."""
        self.n_generations += 1
        self.generation = self.n_generations

    def rank(self, candidates: Candidates, *, at: float) -> tuple[Shown, Belief | None]:
        """Choose what to show and charge it; the record is the log's next entry. With it, what the host believed."""
        rescaled = self.scale.proposal(candidates.features)
        if rescaled is not None:
            self._rescale(*rescaled)
        query = Query(features=self.scale(candidates.features), groups=candidates.groups)
        spent = None if self.shares is None else self.totals.exposure
        k = min(candidates.k or self.spec.length, self.spec.depth - candidates.first)
        page = None if candidates.after is None else self.curve[candidates.first : candidates.first + k]
        ranking = self.ranker.rank(query, length=candidates.k if page is None else k, exposure=page)
        place, remembered = considered(ranking.belief, candidates.ids, candidates.groups, ranking)
        shown = Shown(
            seq=self.seq + 1,
            at=max(at, self.at),
            version=self.version,
            generation=self.generation,
            number=ranking.number,
            n_candidates=len(candidates.ids),
            context=candidates.context,
            shown=ranking.shown,
            features=candidates.features[ranking.shown],
            scores=ranking.scores,
            groups=ranking.groups,
            place=place,
            considered=remembered,
            exposure=ranking.exposure,
            spent=spent,
            added_regret=ranking.added_regret,
            qualified=ranking.qualified,
            memory=dict(self.ranker.translated_memory(ranking.memory, self._units(self.scale.scale))),
            believed=ranking.belief is not None,
            rescaled=rescaled,
            asked=candidates.asked,
            after=candidates.after,
            first=candidates.first,
        )
        self._count(shown)
        return shown, ranking.belief

    def counted(self, ids: Sequence[str], features: Floats32) -> Floats32:
        """All features (n, d): those that a request brings, and the policy's counters as they stand, in their place."""
        if not self._counts:
            return features
        all_features = np.empty((len(ids), len(self._kinds)), dtype=np.float32)
        is_counter = np.array([kind is not None for kind in self._kinds])
        all_features[:, ~is_counter] = features
        kinds = [kind for kind in self._kinds if kind is not None]
        all_features[:, is_counter] = self.counters.columns(ids, kinds)
        return all_features

    def show_again(self, shown: Shown) -> None:
        """Replay a ranking from the log."""
        if shown.rescaled is not None:
            self._rescale(*shown.rescaled)
        self.ranker.replay(shown.ranking(self.ranker.identity))
        self._count(shown)

    def _rescale(self, centre: Floats, scale: Floats) -> None:
        """Go on with features in other units, and with what was learned in them."""
        factors = self.scale.use(centre, scale)
        if self.ranker.n_ranked or self.spec.prior is not None:
            before, (self.ranker, _) = self.ranker, build_ranker(self.spec, self.parameters, scale=self.scale.scale)
            self.ranker.take_over(before, self._units(factors))

    def _units(self, factors: Floats) -> Matching:
        return Matching.of_units(factors, n_groups=len(self.spec.groups))

    def _count(self, shown: Shown) -> None:
        self.totals.show(
            shown.groups,
            self._charged(shown),
            regret=shown.added_regret,
            qualified=shown.qualified,
            at=shown.at,
            first=shown.first,
        )
        self.scale.observe(shown.features)
        if self._counts:
            self.counters.show(shown.ids)
        self.seq, self.at = shown.seq, shown.at

    def learn(
        self, opened: OpenRanking, events: Sequence[Event], *, at: float, final: bool = False, seen: int | None = None
    ) -> Feedback:
        """Learn from new `events`, and from what was `seen`; the record is the log's next entry."""
        at = max(at, self.at)
        status, clicks, left_out, worth = self._decide(opened, events, at, final)
        measured = self._measured(opened, events, clicks, seen) if self.is_open(opened.shown, at) else None
        if status == "noted" and measured is not None:
            status = "measured"
        feedback = Feedback(
            seq=self.seq + 1,
            at=at,
            ranking=opened.shown.seq,
            events=list(events),
            status=status,
            clicks=clicks,
            left_out=left_out,
            measured=measured,
            grades=worth.grades,
            risen=worth.risen if status == "learned" else [],
        )
        self.learn_again(opened.shown, feedback)
        opened.absorb(feedback)
        return feedback

    def _decide(
        self, opened: OpenRanking, events: Sequence[Event], at: float, final: bool
    ) -> tuple[str, list[int], list[int], Worth]:
        """What to make of events: a status, positions to teach as clicked, those to leave out, what each is worth."""
        weights = opened.weights.copy()
        for event in events:
            weights[event.position] += event.weight
        reached = (weights >= self.spec.feedback.threshold) & ~opened.clicked
        clicks: list[int] = np.flatnonzero(reached).tolist()
        worth = Worth.of(opened, weights, clicks, self.spec.feedback)
        if not (opened.taught and self.ranker.uses_grades):
            worth = Worth(worth.grades, [])
        if opened.shown.generation != self.generation:
            return "model_replaced", clicks, [], worth
        if not self.is_open(opened.shown, at):
            return "window_closed", clicks, [], worth
        if opened.taught and not self._by_increments:
            return "already_learned", clicks, [], worth
        if not clicks and not worth.risen and not (final and not opened.taught):
            return "noted", clicks, [], worth
        return "learned", clicks, np.flatnonzero(opened.clicked).tolist() if self._by_increments else [], worth

    def _measured(
        self, opened: OpenRanking, events: Sequence[Event], clicks: Sequence[int], seen: int | None
    ) -> tuple[Floats, Floats] | None:
        """The exposure (m,) charged until now and what to charge instead, if that is anything new.

        Once something says what was seen, positions that were not are charged nothing. What was clicked was seen.
        Rankings of earlier versions stay as they are: the account that they were charged to may be gone.
        """
        shown, viewed = opened.shown, [event for event in events if event.type in self.spec.feedback.viewed]
        if shown.groups is None or self.shares is None or shown.version != self.version:
            return None
        if seen is None and not viewed and opened.measured is None:
            return None
        projected = self._charged(shown)
        after = np.zeros(len(projected)) if opened.measured is None else opened.measured.copy()
        n_seen = min(max((seen or 0) - shown.first, 0), len(after))
        positions = [*range(n_seen), *clicks, *np.flatnonzero(opened.clicked)]
        for position in [*positions, *(event.position for event in viewed)]:
            after[position] = after[position] or projected[position]
        for event in viewed:
            after[event.position] = after[event.position] if event.exposure is None else event.exposure
        if opened.measured is None:  # on record even if all was seen: what comes later adds to it
            return projected.copy(), after
        return None if np.array_equal(opened.measured, after) else (opened.measured.copy(), after)

    def measures(self, opened: OpenRanking, seen: int | None, *, at: float) -> bool:
        """Whether the last position seen says something new, and in time."""
        in_time = seen is not None and self.is_open(opened.shown, at)
        return in_time and self._measured(opened, (), (), seen) is not None

    def is_open(self, shown: Shown, at: float) -> bool:
        """Whether the window for feedback on a ranking is open."""
        return max(at, self.at) - shown.at <= self.spec.feedback.window_seconds

    def _charged(self, shown: Shown) -> Floats:
        """The exposure (m,) that was charged when a ranking was shown."""
        if shown.exposure is not None:
            return shown.exposure
        return self.curve[shown.first : shown.first + len(shown.shown)]

    def learn_again(self, shown: Shown, feedback: Feedback) -> None:
        """Replay feedback from the log; `shown` is the ranking that it is for."""
        if feedback.status == "learned":
            self._teach(self._present(shown), feedback)
        if feedback.measured is not None:
            assert shown.groups is not None
            charged, measured = feedback.measured
            self.totals.measure(shown.groups, charged=charged, measured=measured)
            self.ranker.measure(replace(shown.ranking(self.ranker.identity), exposure=charged), measured)
        clicks = [shown.first + position for position in feedback.clicks]
        self.totals.feed(n_events=len(feedback.events), clicks=clicks, learned=feedback.status == "learned")
        if self._counts:
            self.counters.click(shown.ids[position] for position in feedback.clicks)
        self.seq, self.at = feedback.seq, feedback.at

    def _teach(self, ranking: Ranking, feedback: Feedback) -> None:
        """New clicks against all that was not clicked before; then what is worth more since, against former equals."""
        positions = np.arange(len(ranking))
        if feedback.clicks or not feedback.risen:
            kept = np.delete(positions, feedback.left_out)
            clicks = np.isin(kept, feedback.clicks)
            graded = None if feedback.grades is None else np.where(clicks, np.array(feedback.grades)[kept], 0)
            self.ranker.update(ranking.without(feedback.left_out), clicks, grades=graded)
        grades = np.array(feedback.grades or [])
        for position, before in feedback.risen:
            passed = (grades >= before) & (grades < grades[position])
            kept = np.flatnonzero(passed | (positions == position))
            others = np.setdiff1d(positions, kept).tolist()
            self.ranker.update(ranking.without(others), kept >= 0, grades=1 + (kept == position))

    def _present(self, shown: Shown) -> Ranking:
        """A recorded ranking with the features, groups and units of now, whichever version has shown it."""
        if shown.version not in self._matched:
            self._matched[shown.version] = matched(self.specs[shown.version], self.spec)
        matching, offset = self._matched[shown.version]
        in_units = replace(matching, factors=matching.factors / self.scale.scale)
        ranking = self.ranker.translated(shown.ranking(self.ranker.identity), in_units)
        seen = self.scale(matching.rows(shown.features.astype(np.float64)) + offset)
        return replace(ranking, features=np.where(matching.features == NEW, 0.0, seen))

    def state(self) -> tuple[dict[str, Any], State]:
        """Everything that `restored` needs besides the spec: a little JSON, and arrays."""
        meta: dict[str, Any] = {"version": self.version, "generation": self.generation, "seq": self.seq, "at": self.at}
        meta |= {"parameters": self.parameters, "n_generations": self.n_generations}
        arrays: State = {f"ranker.{key}": value for key, value in self.ranker.state().items()}
        arrays.update({f"totals.{key}": value for key, value in self.totals.state().items()})
        arrays.update({f"scale.{key}": value for key, value in self.scale.state().items()})
        if self._counts:
            arrays.update({f"counters.{key}": value for key, value in self.counters.state().items()})
        return meta, arrays

    @staticmethod
    def restored(
        spec: PolicySpec, meta: dict[str, Any], arrays: State, specs: Mapping[int, PolicySpec] | None = None
    ) -> Runtime:
        """The runtime whose `state` this was; `specs` is the policy by version."""

        def part(name: str) -> State:
            return {key.removeprefix(name): value for key, value in arrays.items() if key.startswith(name)}

        scale = np.asarray(arrays["scale.scale"], dtype=np.float64)
        ranker, _ = build_ranker(spec, meta["parameters"], scale=scale)
        ranker.restore(part("ranker."))
        numbers = {key: int(meta[key]) for key in ("version", "generation", "n_generations", "seq")}
        totals = Totals.restored(part("totals."), spec.shares)
        runtime = Runtime(spec, ranker, totals, parameters=meta["parameters"], specs=specs or {}, **numbers)
        runtime.scale.restore(part("scale."))
        if "counters.names" in arrays:
            runtime.counters = ItemCounters.restored(part("counters."))
        runtime.at = float(meta["at"])
        return runtime


def matched(before: PolicySpec, now: PolicySpec) -> tuple[Matching, Floats]:
    """Which features and groups of `now` are those of `before`, and the offset (d,) in value of those that stay.

    A value from before is multiplied by the matching's factor, and the offset added, where another shift or scale was
    declared.
    """
    old, new = DeclaredScale(before), DeclaredScale(now)
    places = Matching.by_name(now.feature_names, before=before.feature_names).features
    stay = places != NEW
    factors, offset = np.ones(len(places)), np.zeros(len(places))
    factors[stay] = old.scale[places[stay]] / new.scale[stay]
    offset[stay] = (old.shift[places[stay]] - new.shift[stay]) / new.scale[stay]
    matching = Matching.by_name(
        now.feature_names,
        before=before.feature_names,
        factors=factors,
        groups=now.group_names,
        groups_before=before.group_names,
    )
    return matching, offset
