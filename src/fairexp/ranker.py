"""The contract of every ranker, of a host that others stand around, and of what stands around one."""

from __future__ import annotations

import inspect
import secrets
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from reprlib import repr as short_repr
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairexp.arrays import Bools, Floats, Ints, State
from fairexp.copies import shallow
from fairexp.errors import ArgumentError, ForeignRankingError, StateError
from fairexp.measures import Measure
from fairexp.randomness import Seed, Stream
from fairexp.reliability import Reliability
from fairexp.remap import Remap
from fairexp.types import Belief, Query, Ranking
from fairexp.validation import as_array, as_clicks, as_features, as_grades, as_measured, check_count, whole_signature


class TradeOff(NamedTuple):
    """The `parameter` that weighs fairness against relevance, and values to compare it by (`sweep`)."""

    parameter: str
    sweep: tuple[float, ...]


class Traits:
    """What others may ask of a ranker's class; each sets those in which it differs."""

    scores_unseen: bool = True
    """Whether `score` works on documents outside the stream that the ranker serves."""

    keeps_history: bool = False
    """Whether memory grows with the number of rounds."""

    keeps_account: bool = False
    """Whether it keeps an account of the exposure that each group has had: whether it is fair to groups."""

    exposure: Floats | None = None
    """The attention by position (k,) that it reckons with, where it does."""

    keeps_tolerance: bool = False
    """Whether it has a tolerance for unfairness, and says of each ranking whether that was met (`qualified`)."""

    learns_by_increments: bool = False
    """Whether clicks on one ranking may be learned in parts, each part without the positions learned before."""

    keeps_pins: bool = False
    """Whether it leaves documents where a query has pinned them."""

    uses_grades: bool = False
    """Whether it can use how much clicks were worth; others take a click for a click."""

    needs_query_id: bool = False
    """Whether a query must have an id, because something is known or learned of each query by itself."""

    relative_cost: float = 1.0
    """About how much processor time a round takes with 136 features, where a linear ranker's takes 1."""

    trade_off: TradeOff | None = None
    """The parameter that weighs fairness against relevance, where there is one."""

    fair_to: str = ""
    """Of a fair ranker: to whom it is fair (groups or items), by what (exposure or impact), per query or in total."""

    needs: str = ""
    """Of a fair ranker: what must be known beforehand."""

    own_measure: Measure | None = None
    """Of a fair ranker: the measure of what it is fair to."""

    rescaling: Literal["affine", "factor", "none"] = "affine"
    """What may be done to features so that they are of one size: shift and scale them, only scale them (where the
    model depends on where 0 is), or nothing (where weights are given in the features' own units, or where units do not
    matter)."""


class Ranker(Traits, ABC):
    """Ranks queries and learns from clicks.

    Subclasses write `_rank`, `_update`, `_score` and, for what they learn, `_state` and `_restore`. The public
    methods check their input first, so that a refused call changes nothing.
    """

    __signature__: ClassVar[inspect.Signature]
    """The constructor's arguments, with those that it hands on to its base."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.__signature__ = whole_signature(cls)

    def __init__(self, n_features: int, *, length: int = 10, seed: Seed = None) -> None:
        self.n_features = check_count("n_features", n_features)
        self.length = check_count("length", length)
        self.n_ranked = 0
        self._identity = secrets.randbits(63)
        self.stream = Stream(seed)

    def rank(self, query: Query, *, length: int | None = None, exposure: ArrayLike | None = None) -> Ranking:
        """Choose what to show for `query`. May draw randomness; a fair ranker charges the exposure.

        `length` shows fewer positions this once. A fair ranker then chooses and charges for the shorter list.
        `exposure` is that of the positions to fill, where they are not the first: a page that continues a ranking.
        """
        self._check_query(query)
        if query.pinned and not self.keeps_pins:
            raise ArgumentError("query.pinned", query.pinned, "none", f"{type(self).__name__} cannot keep to pins.")
        chooser = self if length is None else self._shortened(length)
        if exposure is not None:
            chooser = chooser._continuing(exposure)
        ranking = chooser._rank(query, self.stream.at(self.n_ranked))
        self.replay(ranking)
        return ranking

    def replay(self, ranking: Ranking) -> None:
        """Count a ranking as shown, as `rank` does with each that it returns.

        Rankings that were recorded can be replayed, in their order and among the updates, into a ranker with the same
        settings and seed; it then stands exactly where the one that made them stood.
        """
        if ranking.ranker != self._identity or ranking.number != self.n_ranked:
            raise ForeignRankingError(
                f"ranking: number {ranking.number} cannot be shown next by this {type(self).__name__}, which has shown "
                f"{self.n_ranked}. Replay all of one ranker's rankings in order into a copy restored from its state."
            )
        after = self._copied()
        after._shown(ranking)
        after.n_ranked += 1
        self._become(after)

    def update(self, ranking: Ranking, clicks: ArrayLike, *, grades: ArrayLike | None = None) -> None:
        """Learn from `clicks`, one bool per shown position. May come late, out of order, or never.

        `grades` (m,) are whole numbers: what each click was worth, from 1, and 0 where there was none.
        """
        self._check_ours(ranking)
        given = as_clicks(clicks, len(ranking))
        worth = None if grades is None else as_grades(grades, given)
        if worth is None or not self.uses_grades:
            self._update(ranking, given)
        else:
            self._update_graded(ranking, worth)

    def measure(self, ranking: Ranking, measured: ArrayLike) -> None:
        """Put `measured` (m,) exposure by shown position in place of `ranking.exposure`, which was charged for it.

        Only a ranker that keeps an account has anything to put right. To measure again, pass the ranking with what is
        charged by now as its exposure.
        """
        self._check_ours(ranking)
        amounts = as_measured(measured, len(ranking))
        if self.keeps_account:
            self._measure(ranking, amounts)

    def score(self, features: ArrayLike) -> Floats:
        """Estimated relevance (n,) of documents with these `features` (n, d): pure exploitation."""
        return self._score(as_features(features, n_features=self.n_features))

    def log_probability(self, query: Query, shown: ArrayLike) -> float | None:
        """The log of the probability that `rank(query)` would now show just `shown` (m,); None where it is not known.

        It is known in closed form for rankers that draw their lists from a model. Nothing changes.
        """
        self._check_query(query)
        given = as_array("shown", shown)
        n_shown = min(self.length, query.n_candidates)
        if given.shape != (n_shown,) or not _are_numbers_of(given, query.n_candidates):
            raise ArgumentError("shown", short_repr(given.tolist()), f"{n_shown} of the query's candidates, by number")
        return self._log_probability(query, given.astype(np.int64))

    def position_probabilities(self, query: Query) -> Floats | None:
        """The probability (n, m) that `rank(query)` would now show document i at position p; None where not known."""
        self._check_query(query)
        return self._position_probabilities(query)

    def draw(self, query: Query, rng: np.random.Generator) -> Ints:
        """What `rank(query)` would show (m,) with other random numbers; nothing is counted, charged or changed."""
        return self.draws(query, rng, 1)[0]

    def draws(self, query: Query, rng: np.random.Generator, n_draws: int) -> list[Ints]:
        """`draw`, `n_draws` times."""
        self._check_query(query)
        return self._draws(query, rng, n_draws)

    def parameters(self) -> dict[str, Any]:
        """The constructor's arguments that are in force, but for the seed: each is kept under its own name."""
        return {name: getattr(self, name) for name in self._defaults()}

    def clone(self, seed: Seed = None) -> Self:
        """A ranker with the same parameters that has shown and learned nothing; so is the host inside it."""
        given = self.parameters().items()
        arguments: dict[str, Any] = {
            name: value.clone(seed) if isinstance(value, Ranker) else value for name, value in given
        }
        return type(self)(**arguments, seed=seed)

    def __repr__(self) -> str:
        defaults, told = self._defaults(), []
        for name, value in self.parameters().items():
            if isinstance(value, Ranker):
                told.append(repr(value))
            elif isinstance(value, np.ndarray) or value != defaults[name]:
                told.append(f"{name}={short_repr(value.tolist() if isinstance(value, np.ndarray) else value)}")
        return f"{type(self).__name__}({', '.join(told)})"

    def state(self) -> State:
        """Everything that `restore` needs to continue bit for bit: arrays only, safe to save without pickle."""
        own: State = {
            "ranker": np.array(type(self).__name__),
            "identity": np.array(self._identity, dtype=np.int64),
            "n_features": np.array(self.n_features, dtype=np.int64),
            "n_ranked": np.array(self.n_ranked, dtype=np.int64),
            "stream": self.stream.key,
        }
        own.update(self._state())
        return own

    def restore(self, arrays: State) -> Self:
        """Continue from a `state()` of a ranker of the same class and shapes; otherwise change nothing."""
        own = self._checked_state(arrays)
        self._restore(own)
        self._identity = int(own["identity"])
        self.n_ranked = int(own["n_ranked"])
        self.stream.key = np.asarray(own["stream"], dtype=np.uint64)
        return self

    @property
    def identity(self) -> int:
        """What its rankings carry as `ranker`: who has shown them."""
        return self._identity

    @property
    def learner(self) -> Ranker:
        """What learns: the ranker itself, or the host inside it."""
        return self

    def take_over(self, before: Ranker, remap: Remap, *, model: bool = True, account: bool = True) -> Self:
        """Go on from `before`, whose features, groups or parameters may differ: its model, and its account of exposure.

        A feature that is new starts as if it had been 0 until now; one that is gone leaves nothing. Rankings that
        `before` has shown can be learned from after `translated`. A model of another class cannot be taken over: that
        is a `StateError`, and then nothing changes.
        """
        own, other = self.learner, before.learner
        if model:
            if type(own) is not type(other):
                raise StateError(
                    f"ranker: a {type(own).__name__} cannot go on from what a {type(other).__name__} has learned"
                )
            own._take_over(other, remap)
            own.count_on(other)
        if account:
            self._take_over_account(before, remap)
        else:
            self.forget_account()
        self.count_on(before)
        return self

    def count_on(self, before: Ranker) -> None:
        """Be the one that has shown what `before` has shown, and go on with its random numbers."""
        self._identity, self.n_ranked = before._identity, before.n_ranked
        self.stream.key = before.stream.key

    def account(self) -> Floats | None:
        """The exposure (G,) that each group has had by its account, where it keeps one; not to be written to."""
        return None

    def target_shares(self) -> Floats | None:
        """What it owes each group (G,) of all exposure, in proportion; None where that is not given, but learned."""
        return None

    def held_to(self) -> float | None:
        """The tolerance for the gap between groups over all rounds; None where it is held to none, or to others."""
        return None

    def forget_account(self) -> None:
        """Start the account of exposure by group anew, with what goes by it; what was learned stays."""

    def linear_model(self) -> Floats | None:
        """The weights (d,) by which it scores, where scores are linear in the features."""
        return None

    def click_log_odds(self) -> float | None:
        """The log-odds that of two documents the higher is clicked, for each unit that their scores differ by.

        None where scores say nothing of the kind.
        """
        return None

    def reliability(self) -> Reliability | None:
        """How orders turned out in clicks, by how probable it had thought them; None where it does not say."""
        return None

    def translated(self, ranking: Ranking, remap: Remap) -> Ranking:
        """A ranking from before `take_over`, as if it had been shown with the present features and groups."""
        if remap.is_identity:
            return ranking
        return replace(
            ranking,
            features=remap.rows(ranking.features),
            groups=None if ranking.groups is None else remap.group_numbers(ranking.groups),
            memory=self.translated_memory(ranking.memory, remap),
        )

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        """The constructor's arguments but for the seed, each with its default."""
        arguments = inspect.signature(cls).parameters.items()
        return {name: argument.default for name, argument in arguments if name != "seed"}

    @abstractmethod
    def _rank(self, query: Query, rng: np.random.Generator) -> Ranking:
        """Return `self._show(query, order, ...)` with at most `self.length` documents, and change nothing.

        All randomness comes from `rng`. `self.length` is shorter than what the ranker was built with where `rank` was
        asked for less.
        """

    def _shown(self, ranking: Ranking) -> None:
        """Take note that `ranking` was shown, from what it carries; deterministic.

        This is done on a copy (`_copied`), which counts only once all of it is done.
        """

    def _copied(self) -> Self:
        """A copy for `_shown` to change. What it changes in place, rather than replaces, must be copied as well."""
        return shallow(self)

    def _become(self, after: Self) -> None:
        """Be what the copy became. Nothing but the return comes after this one step, so no interrupt parts it."""
        self.__dict__ = after.__dict__

    @abstractmethod
    def _update(self, ranking: Ranking, clicks: Bools) -> None:
        """Learn from checked clicks; deterministic."""

    def _update_graded(self, ranking: Ranking, grades: Ints) -> None:
        """Learn from checked grades (m,), where it `uses_grades`; deterministic."""

    def _measure(self, ranking: Ranking, measured: Floats) -> None:
        """Correct the account by checked amounts (m,) in place of `ranking.exposure`; deterministic."""

    @abstractmethod
    def _score(self, features: Floats) -> Floats:
        """Scores of checked features."""

    def _log_probability(self, query: Query, shown: Ints) -> float | None:
        """Of a checked list, where it is known in closed form."""
        return None

    def _position_probabilities(self, query: Query) -> Floats | None:
        """Of every document at every position (n, m), where it is known in closed form."""
        return None

    def next_probabilities(self, query: Query, lists: Ints, shown: Ints) -> Floats | None:
        """How probable `shown` (m,) now is at each position, given what each of `lists` (S, m) has above it, (S, m).

        Known where documents are drawn one after the other; None elsewhere. Input has been checked.
        """
        return None

    def _state(self) -> State:
        return {}

    def _restore(self, arrays: State) -> None:
        """Take over the arrays of `_state`; their names and shapes have been checked."""

    def _draws(self, query: Query, rng: np.random.Generator, n_draws: int) -> list[Ints]:
        """What `_rank` would show, time after time; faster where a ranker need not begin anew for each list."""
        return [self._rank(query, rng).shown for _ in range(n_draws)]

    def _take_over(self, before: Any, remap: Remap) -> None:
        """Take over what `before`, of the same class, learned; or raise a `StateError` and change nothing."""
        if not remap.is_identity:
            raise StateError(f"ranker: a {type(self).__name__} cannot go on with other features or groups")
        self._restore(self._checked_state(before.state()))

    def _take_over_account(self, before: Ranker, remap: Remap) -> None:
        """Take over the account of exposure by group, where both keep one."""

    def translated_memory(
        self, memory: Mapping[str, NDArray[np.generic]], remap: Remap
    ) -> Mapping[str, NDArray[np.generic]]:
        """A ranking's memory, where it speaks of features."""
        return memory

    def _show(self, query: Query, shown: Ints, scores: Floats, **extra: Any) -> Ranking:
        """The `Ranking` that shows documents `shown` of `query`, given the `scores` (n,) of all candidates."""
        return Ranking(
            shown=shown,
            features=query.features.take(shown, axis=0),
            scores=scores[shown],
            groups=None if query.groups is None else query.groups[shown],
            query_id=query.query_id,
            document_ids=None if query.document_ids is None else query.document_ids[shown],
            labels={key: of[shown] for key, of in query.labels.items()} if query.labels else {},
            segment=query.segment,
            weight=query.weight,
            ranker=self._identity,
            number=self.n_ranked,
            **extra,
        )

    def _shortened(self, length: int) -> Self:
        """This ranker with a shorter list, sharing all that it learned: for one `_rank`, which changes nothing."""
        if check_count("length", length) > self.length:
            raise ArgumentError(
                "length", length, f"at most {self.length}, the ranker's own", "Build the ranker with a longer one."
            )
        shorter = shallow(self)
        shorter.length = length
        return shorter

    def _continuing(self, exposure: ArrayLike) -> Self:
        """This ranker with other positions to fill, as `_shortened`; without an account they make no difference."""
        continuing: Any = shallow(self)
        if self.keeps_account:
            continuing.exposure = as_measured(
                np.ravel(as_array("exposure", exposure))[: self.length], self.length, "exposure"
            )
        return continuing  # type: ignore[no-any-return]

    def _check_query(self, query: Query) -> None:
        if not isinstance(query, Query):
            raise ArgumentError("query", type(query).__name__, "a fairexp.Query")
        if query.features.shape[1] != self.n_features:
            raise ArgumentError(
                "query.features",
                f"{query.features.shape[1]} columns",
                f"{self.n_features} columns",
                "The ranker was built with n_features.",
            )
        if self.needs_query_id and query.query_id is None:
            raise ArgumentError(
                "query.query_id", "None", "an id", f"{type(self).__name__} knows queries apart by their ids."
            )

    def _check_ours(self, ranking: Ranking) -> None:
        if not isinstance(ranking, Ranking):
            raise ArgumentError("ranking", type(ranking).__name__, "the fairexp.Ranking that rank() returned")
        if ranking.ranker != self._identity or not 0 <= ranking.number < self.n_ranked:
            raise ForeignRankingError(
                f"ranking: number {ranking.number} was not shown by this {type(self).__name__}, which has shown "
                f"{self.n_ranked}. Pass a ranking to update() of the ranker (or its restored copy) that made it."
            )

    def _checked_state(self, arrays: State) -> State:
        expected = self.state()
        missing = sorted(expected.keys() - arrays.keys())
        if missing:
            raise StateError(f"state: {', '.join(missing)} missing; expected a state() of {type(self).__name__}")
        own = {key: np.asarray(arrays[key]) for key in expected}
        for key in ("ranker", "n_features"):
            if own[key] != expected[key]:
                raise StateError(f"state: {key} is {own[key]}, expected {expected[key]}")
        for key, value in own.items():
            if not self.fits(key, value, expected[key]):
                raise StateError(
                    f"state: {key} has shape {value.shape} and dtype {value.dtype}, expected "
                    f"{expected[key].shape} and {expected[key].dtype}"
                )
        return own

    def fits(self, key: str, value: NDArray[np.generic], expected: NDArray[np.generic]) -> bool:
        """Whether a saved array may take the place of `expected`; the first axis of a history may differ."""
        return value.shape == expected.shape and value.dtype.kind == expected.dtype.kind


def _are_numbers_of(given: NDArray[Any], n: int) -> bool:
    """Whether all of `given` are whole numbers from 0 to n - 1."""
    if given.dtype.kind not in "iu":
        return bool(np.isin(given, np.arange(n)).all())
    return bool(((given >= 0) & (given < n)).all())


class Host(Ranker):
    """A ranker whose exploration is explicit, so that another can be put around it, such as `FairExp`.

    Whoever is around it asks it what to `believe` of a query, chooses what to show, has it say what to remember of that
    (`memory`) and take note of it (`note`), and hands on clicks to `learn`. Input has been checked by then.
    """

    templated: bool = False
    """Whether templates decide which group has which position: `FairExp` says so to its host, unless its tolerance is
    infinite. Documents of different groups are then not exchangeable, and what is shown depends on the draw inside each
    group alone."""

    remembers_positions: bool = True
    """Whether arrays of its `memory` that are as long as the ranking are by position; else all are by candidate."""

    @abstractmethod
    def believe(self, query: Query, rng: np.random.Generator | None = None) -> Belief:
        """Scores, certain orders, blocks, and one exploration draw (from `rng`, or from the ranker's own)."""

    def memory(
        self, query: Query, belief: Belief, shown: Ints, rng: np.random.Generator
    ) -> dict[str, NDArray[np.generic]]:
        """What learning must remember of a ranking that shows documents `shown` (m,), beyond their features.

        Arrays whose first axis is as long as the ranking are by position, and are cut where positions are left out.
        """
        return {}

    def note(self, ranking: Ranking) -> None:
        """Take note of what was shown, whoever chose it."""
        self._shown(ranking)

    def learn(self, ranking: Ranking, clicks: Bools) -> None:
        """Learn from clicks (m,) on a ranking, whoever chose it."""
        self._update(ranking, clicks)

    def learn_graded(self, ranking: Ranking, grades: Ints) -> None:
        """Learn from graded clicks (m,) on a ranking, whoever chose it."""
        self._update_graded(ranking, grades)

    def estimate(self, features: Floats) -> Floats:
        """`score` of features that have been checked."""
        return self._score(features)

    def _rank(self, query: Query, rng: np.random.Generator) -> Ranking:
        belief = self.believe(query, rng)
        shown = belief.draw[: self.length]
        return self._show(query, shown, belief.scores, belief=belief, memory=self.memory(query, belief, shown, rng))


_HOST = "host."


class HostWrapper(Ranker):
    """A ranker around `host`, which has an explicit belief; traits, learning and scores are the host's.

    Subclasses write `_rank`, and where they keep something of their own `_state` and `_restore`, which call these.
    """

    host: Host

    def __init__(self, host: Host, *, seed: Seed) -> None:
        if not isinstance(host, Host):
            raise ArgumentError(
                "host", type(host).__name__, "a ranker with an explicit belief", "Its class must derive from Host."
            )
        super().__init__(host.n_features, length=host.length, seed=seed)
        if seed is None:
            self.stream = host.stream
        self.host = host
        host.templated = True
        self.keeps_history = host.keeps_history
        self.scores_unseen = host.scores_unseen
        self.rescaling = host.rescaling
        self.learns_by_increments = host.learns_by_increments
        self.uses_grades = host.uses_grades
        self.needs_query_id = host.needs_query_id
        self.relative_cost = type(self).relative_cost + host.relative_cost

    @property
    def learner(self) -> Ranker:
        return self.host

    def linear_model(self) -> Floats | None:
        return self.host.linear_model()

    def reliability(self) -> Reliability | None:
        return self.host.reliability()

    def translated_memory(
        self, memory: Mapping[str, NDArray[np.generic]], remap: Remap
    ) -> Mapping[str, NDArray[np.generic]]:
        return self.host.translated_memory(memory, remap)

    def fits(self, key: str, value: NDArray[np.generic], expected: NDArray[np.generic]) -> bool:
        if key.startswith(_HOST):
            return self.host.fits(key.removeprefix(_HOST), value, expected)
        return super().fits(key, value, expected)

    def _check_query(self, query: Query) -> None:
        self.host._check_query(query)

    def _shown(self, ranking: Ranking) -> None:
        self.host.note(ranking)

    def _copied(self) -> Self:
        after = super()._copied()
        after.host = self.host._copied()
        return after

    def _become(self, after: Self) -> None:
        host, noted = self.host, after.host.__dict__
        after.host = host
        host.__dict__, self.__dict__ = noted, after.__dict__

    def _update(self, ranking: Ranking, clicks: Bools) -> None:
        self.host.learn(ranking, clicks)

    def _update_graded(self, ranking: Ranking, grades: Ints) -> None:
        self.host.learn_graded(ranking, grades)

    def _score(self, features: Floats) -> Floats:
        return self.host.estimate(features)

    def _state(self) -> State:
        return {_HOST + key: value for key, value in self.host.state().items()}

    def _restore(self, arrays: State) -> None:
        self.host.restore({key.removeprefix(_HOST): arrays[key] for key in arrays if key.startswith(_HOST)})
