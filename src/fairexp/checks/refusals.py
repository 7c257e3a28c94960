"""Promises about what a ranker refuses, and that a refusal changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from fairexp.checks.comparison import copy_of, first_difference
from fairexp.checks.failure import CheckFailed, demand, keeping
from fairexp.checks.worlds import World
from fairexp.errors import FairexpError, ForeignRankingError, StateError
from fairexp.ranker import Ranker

Attempt = Callable[[], object]


def check_refusals(world: World) -> None:
    """Bad input is refused with an error of `fairexp.errors`, and the ranker is as it was."""
    promise = "bad input is refused and changes nothing"
    with keeping(promise):
        ranker = world.make(world.seed)
        world.play(ranker, world.n_short)
        ranking = ranker.rank(world.query(0))
    n, d = world.query(0).n_candidates, world.n_features
    clicks = np.zeros(len(ranking), dtype=np.bool_)
    wide = replace(world.query(0), features=np.zeros((n, d + 1)))
    attempts: dict[str, Attempt] = {
        "rank() of a query with a feature too many": lambda: ranker.rank(wide),
        "rank() of something that is not a Query": lambda: ranker.rank(world.query(0).features),  # type: ignore[arg-type]
        "rank() of a list longer than its own": lambda: ranker.rank(world.query(0), length=ranker.length + 1),
        "rank() of a list of no positions": lambda: ranker.rank(world.query(0), length=0),
        "update() with a click too few": lambda: ranker.update(ranking, clicks[1:]),
        "update() with clicks of 2": lambda: ranker.update(ranking, np.full(len(ranking), 2)),
        "update() with clicks of NaN": lambda: ranker.update(ranking, np.full(len(ranking), np.nan)),
        "score() of NaN": lambda: ranker.score(np.full((n, d), np.nan)),
        "score() of infinity": lambda: ranker.score(np.full((n, d), np.inf)),
        "score() of a feature too many": lambda: ranker.score(np.zeros((n, d + 1))),
    }
    for name, attempt in attempts.items():
        demand_refusal(ranker, name, attempt, FairexpError, promise)
    demand_refusal(ranker, "restore() of an empty state", lambda: ranker.restore({}), StateError, promise)


def check_foreign(world: World) -> None:
    """Feedback for a ranking that another ranker showed, or that was never shown, is refused."""
    promise = "foreign rankings are refused"
    with keeping(promise):
        ranker, other = world.make(world.seed), world.make(world.seed)
        own, foreign = ranker.rank(world.query(0)), other.rank(world.query(0))
    future = replace(own, number=own.number + 100)
    clicks = world.click(own, 0)
    for name, ranking in (("another ranker's ranking", foreign), ("a ranking not shown yet", future)):
        attempt = partial(ranker.update, ranking, clicks)
        demand_refusal(ranker, f"update() with {name}", attempt, ForeignRankingError, promise)


def demand_refusal(ranker: Ranker, name: str, attempt: Attempt, expected: type[FairexpError], promise: str) -> None:
    """Raise a `CheckFailed` unless `attempt` is refused with the `expected` error and leaves the ranker as it was."""
    before = copy_of(ranker.state())
    try:
        attempt()
    except expected:
        changed = first_difference(before, ranker.state())
        demand(changed is None, promise, f"{name} was refused, but it changed {changed!r} of the state")
        return
    except Exception as error:
        problem = f"{name} raised {type(error).__name__} ({error}), expected a fairexp.errors.{expected.__name__}"
        raise CheckFailed(promise, problem) from error
    raise CheckFailed(promise, f"{name} was accepted, expected a fairexp.errors.{expected.__name__}")
