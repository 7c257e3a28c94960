"""Promises about traits: a ranker is what its class attributes say, and can be shown, copied and started anew."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fairexp.arrays import State
from fairexp.checks.comparison import copy_of, first_difference
from fairexp.checks.failure import demand, keeping
from fairexp.checks.learning import demand_sound
from fairexp.checks.refusals import demand_refusal
from fairexp.checks.worlds import World
from fairexp.errors import ArgumentError
from fairexp.fairness.ledger import amounts_by_group
from fairexp.types import Query


def check_increments(world: World) -> None:
    """Where `learns_by_increments`: a part without clicks teaches nothing more, and parts with clicks are accepted."""
    promise = "clicks on one ranking may be learned in parts"
    ranker = world.make(world.seed)
    if not ranker.learns_by_increments:
        return
    with keeping(promise):
        world.play(ranker, world.n_short)
        for number in range(len(world.queries)):
            ranking = ranker.rank(world.query(number))
            clicks = world.click(ranking, number)
            first = np.flatnonzero(clicks)[:1].tolist()
            ranker.update(ranking, np.isin(np.arange(len(ranking)), first))
            before = copy_of(ranker.state())
            rest = ranking.without(first)
            ranker.update(rest, np.zeros(len(rest), dtype=np.bool_))
            changed = first_difference(before, ranker.state())
            demand(changed is None, promise, f"a part without clicks changed {changed!r} of the state")
            ranker.update(rest, np.delete(clicks, first))
            demand_sound(ranker.state(), promise)


def check_grades(world: World) -> None:
    """Grades of 1 teach what clicks without grades do, whether it `uses_grades` or not; others are accepted."""
    promise = "clicks may have grades"
    plain, graded = world.make(world.seed), world.make(world.seed)
    with keeping(promise):
        graded.restore(plain.state())
        for number in range(world.n_short):
            rankings = [ranker.rank(world.query(number)) for ranker in (plain, graded)]
            clicks = world.click(rankings[0], number)
            plain.update(rankings[0], clicks)
            graded.update(rankings[1], clicks, grades=clicks.astype(np.int64))
            different = first_difference(plain.state(), graded.state())
            demand(different is None, promise, f"grades of 1 made another {different!r} of the state than clicks did")
        for number in range(world.n_short):
            ranking = graded.rank(world.query(number))
            clicks = world.click(ranking, number)
            graded.update(ranking, clicks, grades=clicks * (1 + np.arange(len(clicks)) % 3))
        demand_sound(graded.state(), promise)


def check_account(world: World) -> None:
    """Where `keeps_account`: each ranking is charged to its groups, and `forget_account` forgets that and no more."""
    promise = "exposure is charged to the groups shown"
    ranker = world.make(world.seed)
    with keeping(promise):
        account = ranker.account()
        if not ranker.keeps_account:
            demand(account is None, promise, "account() returned one where keeps_account is False")
            return
        demand(account is not None and not account.any(), promise, f"a new ranker's account() is {account}, not zeros")
        for number in range(world.n_short):
            before = np.array(ranker.account())
            ranking = ranker.rank(world.query(number))
            charged = ranking.groups is not None and ranking.exposure is not None
            demand(charged, promise, "a ranking has no groups or no exposure that it was charged for")
            expected = before + amounts_by_group(ranking.groups, ranking.exposure, len(before))  # type: ignore[arg-type]
            after = np.array(ranker.account())
            demand(np.allclose(after, expected), promise, f"account() went from {before} to {after}, not {expected}")
            ranker.update(ranking, world.click(ranking, number))
            ranker.measure(ranking, np.zeros(len(ranking)))
            problem = f"account() is {ranker.account()} after a ranking was given back, not {before} as before it"
            demand(np.allclose(np.array(ranker.account()), before), promise, problem)
            ranker.measure(replace(ranking, exposure=np.zeros(len(ranking))), ranking.exposure)  # type: ignore[arg-type]
        features = world.query(0).features
        scores = ranker.score(features) if ranker.scores_unseen else None
        ranker.forget_account()
        demand(not np.any(ranker.account()), promise, f"account() is {ranker.account()} after forget_account()")
        same = scores is None or np.array_equal(scores, ranker.score(features))
        demand(same, promise, "forget_account() changed the scores: what was learned must stay")


def check_tolerance_trait(world: World) -> None:
    """A ranking says whether it is `qualified` exactly where the ranker `keeps_tolerance`."""
    promise = "rankings are qualified or not where there is a tolerance"
    ranker = world.make(world.seed)
    with keeping(promise):
        for ranking in world.play(ranker, world.n_short):
            said = ranking.qualified is not None
            problem = f"keeps_tolerance is {ranker.keeps_tolerance}, and ranking.qualified is {ranking.qualified}"
            demand(said == ranker.keeps_tolerance, promise, problem)


def check_query_ids(world: World) -> None:
    """A query without an id is refused where the ranker `needs_query_id`, and ranked everywhere else."""
    promise = "a query id is needed only where the ranker says so"
    ranker = world.make(world.seed)
    query = world.query(0)
    nameless = Query(features=query.features, groups=query.groups)
    if ranker.needs_query_id:
        demand_refusal(ranker, "rank() of a query without an id", lambda: ranker.rank(nameless), ArgumentError, promise)
        return
    with keeping(promise):
        ranking = ranker.rank(nameless)
        ranker.update(ranking, world.click(ranking, 0))


def check_clone(world: World) -> None:
    """A ranker prints itself, and its clone has its parameters and the state of a new one."""
    promise = "a clone has the same parameters and has learned nothing"
    with keeping(promise):
        ranker = world.make(world.seed)
        told, new = repr(ranker), _apart_from_identity(ranker.state())
        demand(told.startswith(type(ranker).__name__ + "("), promise, f"it prints itself as {told}")
        world.play(ranker, world.n_short)
        copies = [ranker.clone(world.seed) for _ in range(2)]
        demand(repr(copies[0]) == told, promise, f"{told} has the clone {copies[0]!r}")
        different = first_difference(new, _apart_from_identity(copies[0].state()))
        demand(different is None, promise, f"{different!r} of the clone's state is not a new ranker's")
        one, two = (world.play(each, world.n_short) for each in copies)
        same = all(np.array_equal(a.shown, b.shown) for a, b in zip(one, two, strict=True))
        demand(same, promise, "two clones with the same seed showed different lists")


def _apart_from_identity(state: State) -> State:
    """A state without what tells rankers of the same parameters apart: who they are, and their random numbers."""
    own = ("identity", "stream")
    return {key: value for key, value in copy_of(state).items() if key.rpartition(".")[2] not in own}
