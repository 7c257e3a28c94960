"""Promises about what a ranker shows: lists, scores, seeds, and leaving its input alone."""

from __future__ import annotations

import numpy as np

from fairexp.checks.comparison import first_difference
from fairexp.checks.failure import CheckFailed, demand, keeping
from fairexp.checks.worlds import World
from fairexp.errors import CannotScoreError
from fairexp.ranker import Ranker
from fairexp.types import Query, Ranking


def check_lists(world: World) -> None:
    """Every ranking shows min(length, n) distinct candidates of its query, with their features, groups and scores."""
    promise = "shown documents are distinct, in range and right in number"
    ranker = world.make(world.seed)
    for number, query in enumerate(world.queries):
        with keeping(promise):
            ranking = ranker.rank(query)
            _check_list(ranking, query, ranker.length, promise)
            ranker.update(ranking, world.click(ranking, number))


def check_shorter(world: World) -> None:
    """A ranking of fewer positions on request is a ranking like any other, and the next is as long as ever."""
    promise = "a shorter list on request is kept to, this once"
    ranker = world.make(world.seed)
    length = ranker.length
    for number, query in enumerate(world.queries):
        with keeping(promise):
            shorter = 1 + number % length
            ranking = ranker.rank(query, length=shorter)
            _check_list(ranking, query, shorter, promise)
            amounts = ranking.exposure
            fits = amounts is None or amounts.shape == ranking.shown.shape
            demand(fits, promise, f"exposure of more positions than the {len(ranking)} shown was charged")
            demand(ranker.length == length, promise, f"the ranker's own length is {ranker.length} afterwards")
            ranker.update(ranking, world.click(ranking, number))
            _check_list(ranker.rank(query), query, length, promise)


def _check_list(ranking: Ranking, query: Query, length: int, promise: str) -> None:
    where = f"query {query.query_id!r} with {query.n_candidates} candidates"
    shown = np.asarray(ranking.shown)
    expected = min(length, query.n_candidates)
    demand(shown.shape == (expected,), promise, f"{where} got shape {shown.shape}, expected ({expected},)")
    demand(shown.dtype.kind == "i", promise, f"{where} got dtype {shown.dtype}, expected integers")
    in_range = bool(((shown >= 0) & (shown < query.n_candidates)).all())
    demand(in_range, promise, f"{where} got {shown}, expected indices of its candidates")
    demand(len(set(shown.tolist())) == expected, promise, f"{where} got {shown}, which repeats a document")
    carried = np.array_equal(ranking.features, query.features[shown])
    demand(carried, promise, f"{where}: ranking.features are not those of the shown documents")
    if query.groups is not None:
        carried = ranking.groups is not None and np.array_equal(ranking.groups, query.groups[shown])
        demand(carried, promise, f"{where}: ranking.groups are not those of the shown documents")
    if query.document_ids is not None:
        carried = ranking.document_ids is not None and np.array_equal(ranking.document_ids, query.document_ids[shown])
        demand(carried, promise, f"{where}: ranking.document_ids are not those of the shown documents")
    finite = ranking.scores.shape == (expected,) and bool(np.isfinite(ranking.scores).all())
    demand(finite, promise, f"{where}: ranking.scores are {ranking.scores}, expected {expected} finite numbers")


def check_scores(world: World) -> None:
    """`score` gives one finite number per document, repeats itself, and changes nothing."""
    promise = "scores are finite, one per document, and scoring changes nothing"
    ranker = world.make(world.seed)
    with keeping(promise):
        world.play(ranker, 20)
        before = ranker.state()
        for query in world.queries:
            if not ranker.scores_unseen:
                _check_declines(ranker, query, promise)
                continue
            scores = np.asarray(ranker.score(query.features))
            where = f"{query.n_candidates} documents ({query.query_id})"
            demand(scores.shape == (query.n_candidates,), promise, f"{where} got scores of shape {scores.shape}")
            demand(bool(np.isfinite(scores).all()), promise, f"{where} got scores {scores}")
            again = np.asarray(ranker.score(query.features))
            demand(np.array_equal(scores, again), promise, f"{where} got other scores when asked again")
        changed = first_difference(before, ranker.state())
        demand(changed is None, promise, f"score() changed {changed!r} of the state")


def _check_declines(ranker: Ranker, query: Query, promise: str) -> None:
    try:
        ranker.score(query.features)
    except CannotScoreError:
        return
    raise CheckFailed(promise, "scores_unseen is False, so score() should raise a CannotScoreError; it returned")


def check_seeds(world: World) -> None:
    """The same seed shows the same lists, also while another ranker of the class is at work."""
    promise = "the same seed gives the same rankings, whatever other rankers do"
    with keeping(promise):
        alone = world.make(world.seed)
        expected = world.play(alone, world.n_short)
        again, other = world.make(world.seed), world.make(world.seed + 1)
        for number, one in enumerate(expected):
            world.play(other, 1, start=number + 1)
            (two,) = world.play(again, 1, start=number)
            same = np.array_equal(one.shown, two.shown)
            demand(same, promise, f"round {number} showed {one.shown} to the first and {two.shown} to the second")


def check_inputs(world: World) -> None:
    """Queries, clicks, rankings and features passed in are as they were."""
    promise = "input arrays are left untouched"
    ranker = world.make(world.seed)
    with keeping(promise):
        for number, query in enumerate(world.queries):
            groups = np.array([]) if query.groups is None else query.groups
            arrays = {"query.features": query.features, "query.groups": groups}
            before = {name: array.copy() for name, array in arrays.items()}
            ranking = ranker.rank(query)
            clicks = world.click(ranking, number)
            later = {"clicks": clicks, "ranking.shown": ranking.shown, "ranking.features": ranking.features}
            later |= {"ranking.scores": ranking.scores}
            later |= {f"ranking.memory[{name!r}]": array for name, array in ranking.memory.items()}
            arrays |= later
            before |= {name: np.array(array) for name, array in later.items()}
            ranker.update(ranking, clicks)
            if ranker.scores_unseen:
                ranker.score(query.features)
            changed = first_difference(before, arrays)
            demand(changed is None, promise, f"{changed} was changed in round {number}")
