"""A policy at work: a ranker and its totals, which are a fold over the policy's log.

Whatever changes them here is an entry of the log, and every entry can be applied again: `rank` and `learn` make
entries, `show_again` and `learn_again` replay them, and both ways lead to the same bits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fairexp.arrays import Floats, State
from fairexp.fairness.exposure import exposure_curve
from fairexp.ranker import Ranker
from fairexp.remap import NEW, Remap
from fairexp.service.engine.candidates import Candidates, query_key
from fairexp.service.engine.open_ranking import OpenRanking, Worth
from fairexp.service.engine.standing import Standing, demands_of, settled, standing
from fairexp.service.items import ItemCounters
from fairexp.service.log.considered import Floats32, considered
from fairexp.service.log.contributions import Contributions
from fairexp.service.log.feedback import Event, Feedback
from fairexp.service.log.shown import Shown, groups_of
from fairexp.service.policies.rankers import build_ranker, curve_notes, resolve_parameters
from fairexp.service.policies.scaling import DeclaredScale, RunningScale
from fairexp.service.policies.spec import PolicySpec
from fairexp.service.policies.versions import matched, same_labels
from fairexp.service.totals import DrawnAccounts, Totals, expected_clicks
from fairexp.types import Belief, Query, Ranking


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
        self._matched: dict[int, tuple[Remap, Floats]] = {}
        self.scaling = DeclaredScale(spec)
        self.scale = RunningScale.of(spec, rescaling=ranker.rescaling)
        self.curve: Floats = exposure_curve(spec.exposure, spec.depth)
        self.most_exposure = spec.feedback.max_exposure * float(self.curve.max())
        self.accounts = spec.accounts
        self.drawn = DrawnAccounts(ranker, self.accounts)
        self.is_fair = ranker.keeps_tolerance
        self.needs_query_id = ranker.needs_query_id
        self._by_increments = ranker.learns_by_increments
        self.columns = spec.requested
        self.counters = ItemCounters()
        self._kinds = [column.counter for column in spec.declared]
        self._counts = any(self._kinds)

    @staticmethod
    def new(spec: PolicySpec, *, before: Mapping[str, Any] | None = None) -> tuple[Runtime, list[str]]:
        """A policy that has shown nothing, and what its construction warned of.

        `before` are the parameters that were in force, where it was declared before.
        """
        parameters = resolve_parameters(spec, before=None if before is None else (spec, before))
        ranker, notes = build_ranker(spec, parameters)
        totals = Totals(*owed_by(spec), length=spec.depth)
        runtime = Runtime(spec, ranker, totals, parameters=parameters, version=1, generation=1, seq=0, specs={})
        return runtime, [*notes, *curve_notes(ranker)]

    def follow(self, before: Runtime) -> None:
        """Come after `before` in the log, as a version of its own, with a state that an earlier one ended with."""
        self.version, self.n_generations = before.version + 1, before.n_generations
        self.specs = {**before.specs, self.version: self.spec}
        self.seq, self.at = before.seq, before.at
        self.ranker.count_on(before.ranker)  # numbers of rankings go on: none is used twice

    def come_after(self, version: int, *, last: int, at: float, specs: Mapping[int, PolicySpec]) -> None:
        """Come after a version of which no more is known than what was declared, and that its log goes to `last`."""
        self.version = version + 1
        self.specs = {**specs, self.version: self.spec}
        self.generation = self.n_generations = self.version  # no version began more than one
        self.seq, self.at = last + 1, at
        self.ranker.n_ranked = last  # each ranking is an entry: no number is used twice

    def begin_generation(self) -> None:
        """Go on as a model of its own, which learns from none of the rankings so far."""
        self.n_generations += 1
        self.generation = self.n_generations

    def rank(self, candidates: Candidates, *, at: float) -> tuple[Shown, Belief | None]:
        """Choose what to show and charge it; the record is the log's next entry. With it, what the host believed."""
        rescaled = self.scale.proposal(candidates.features)
        if rescaled is not None:
            self._rescale(*rescaled)
        known_by = self._known_by(candidates)
        query = Query(
            features=self.scale(candidates.features),
            groups=candidates.groups,
            labels=candidates.labels,
            segment=candidates.segment,
            weight=candidates.weight,
            pinned=candidates.pinned,
            **known_by,
        )
        demands = demands_of(query, self.ranker, self.totals)
        k = min(candidates.k or self.spec.length, self.spec.depth - candidates.first)
        page = None if candidates.after is None else self.curve[candidates.first : candidates.first + k]
        ranking = self.ranker.rank(query, length=candidates.k if page is None else k, exposure=page)
        exposure = self._exposure(len(ranking), ranking.weight) if ranking.exposure is None else ranking.exposure
        model = self.ranker.linear_model()
        place, remembered = considered(ranking.belief, candidates.ids, candidates.groups, candidates.labels, ranking)
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
            accounts=settled(demands, self.accounts, self.ranker, ranking, exposure),
            pinned=ranking.pinned,
            added_regret=ranking.added_regret,
            qualified=ranking.qualified,
            contributions=None if model is None else Contributions.of(query.features[ranking.shown], model),
            proof=ranking.proof,
            gap_bound=ranking.gap_bound,
            memory=dict(self.ranker.translated_memory(ranking.memory, self._units(self.scale.scale))),
            believed=ranking.belief is not None,
            rescaled=rescaled,
            labels={name: values[ranking.shown] for name, values in candidates.labels.items()},
            weight=candidates.weight,
            segment=candidates.segment,
            asked=candidates.asked,
            after=candidates.after,
            first=candidates.first,
            query=known_by.get("query_id", ""),
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

    def account(self, number: int) -> Standing:
        """Where a constraint stands now."""
        return standing(number, self.accounts[number], self.ranker, self.totals)

    def _exposure(self, n_shown: int, weight: float, *, first: int = 0) -> Floats:
        """The exposure (m,) of what rankers show that keep no account of it."""
        return self.curve[first : first + n_shown] * weight

    def _known_by(self, candidates: Candidates) -> dict[str, Any]:
        """What a ranker that learns of each query by itself knows this one by; nothing for others."""
        if not self.needs_query_id or "query_id" not in candidates.context:
            return {}
        return {"query_id": query_key(candidates.context["query_id"]), "document_ids": candidates.ids}

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

    def _units(self, factors: Floats) -> Remap:
        return Remap.of_units(factors, n_groups=len(self.spec.groups))

    def _count(self, shown: Shown) -> None:
        exposure, drawn = self._charged(shown), self.drawn.groups(shown)
        totals, attention = self.totals, exposure if shown.weight == 1.0 else exposure / shown.weight
        rate, log_odds = (totals.clicks, totals.attention), self.ranker.learner.click_log_odds()
        totals.show(
            [groups_of(shown, each.attributes) for each in self.accounts],
            exposure,
            gaps=[account.gap for account in shown.accounts],
            met=[bool(account.met) for account in shown.accounts],
            regret=shown.added_regret,
            qualified=shown.qualified,
            at=shown.at,
            first=shown.first,
            weight=shown.weight,
            drawn=drawn,
            drawn_gaps=self.drawn.show(shown, drawn, exposure),
            expected=expected_clicks(shown, attention, rate=rate, log_odds=log_odds),
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
        if not self.accounts or shown.version != self.version:
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
            after[event.position] = after[event.position] if event.exposure is None else event.exposure * shown.weight
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
        return self._exposure(len(shown.shown), shown.weight, first=shown.first)

    def learn_again(self, shown: Shown, feedback: Feedback) -> None:
        """Replay feedback from the log; `shown` is the ranking that it is for."""
        if feedback.status == "learned":
            self._teach(self.present(shown), feedback)
        if feedback.measured is not None:
            charged, measured = feedback.measured
            groups = [groups_of(shown, each.attributes) for each in self.accounts]
            drawn, weight = self.drawn.groups(shown), shown.weight
            self.totals.measure(groups, charged=charged, measured=measured, weight=weight, drawn=drawn)
            self.drawn.measure(shown, drawn, feedback.measured)
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

    def present(self, shown: Shown) -> Ranking:
        """A recorded ranking with the features, groups and units of now, whichever version has shown it."""
        if shown.version not in self._matched:
            self._matched[shown.version] = matched(self.specs[shown.version], self.spec)
        remap, offset = self._matched[shown.version]
        in_units = replace(remap, factors=remap.factors / self.scale.scale)
        ranking = self.ranker.translated(shown.ranking(self.ranker.identity), in_units)
        if shown.labels and not same_labels(self.specs[shown.version], self.spec):
            ranking = replace(ranking, labels={})  # it teaches, but not what groups are owed
        seen = self.scale(remap.rows(shown.features.astype(np.float64)) + offset)
        return replace(ranking, features=np.where(remap.features == NEW, 0.0, seen))

    def state(self) -> tuple[dict[str, Any], State]:
        """Everything that `restored` needs besides the spec: a little JSON, and arrays."""
        meta: dict[str, Any] = {"version": self.version, "generation": self.generation, "seq": self.seq, "at": self.at}
        meta |= {"parameters": self.parameters, "n_generations": self.n_generations}
        arrays: State = {f"ranker.{key}": value for key, value in self.ranker.state().items()}
        arrays.update({f"totals.{key}": value for key, value in self.totals.state().items()})
        arrays.update({f"drawn.{key}": value for key, value in self.drawn.state().items()})
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
        totals = Totals.restored(part("totals."), *owed_by(spec))
        runtime = Runtime(spec, ranker, totals, parameters=meta["parameters"], specs=specs or {}, **numbers)
        runtime.scale.restore(part("scale."))
        runtime.drawn.restore(part("drawn."))
        if "counters.names" in arrays:
            runtime.counters = ItemCounters.restored(part("counters."))
        runtime.at = float(meta["at"])
        return runtime


def owed_by(spec: PolicySpec) -> tuple[list[Floats | None], list[int]]:
    """By constraint what each group (G,) is owed, None where that follows from what happens, and how many there are."""
    return [each.fixed_shares for each in spec.accounts], [each.n_groups for each in spec.accounts]
