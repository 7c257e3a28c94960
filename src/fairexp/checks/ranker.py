"""`check_ranker`: the contract of every ranker, for ours and for everybody's."""

from __future__ import annotations

from collections.abc import Callable

from fairexp.checks.changes import check_take_over
from fairexp.checks.learning import check_awkward, check_feedback, check_memory, check_replay, check_restore
from fairexp.checks.refusals import check_foreign, check_refusals
from fairexp.checks.showing import check_inputs, check_lists, check_scores, check_seeds, check_shorter
from fairexp.checks.traits import (
    check_account,
    check_clone,
    check_grades,
    check_increments,
    check_query_ids,
    check_tolerance_trait,
)
from fairexp.checks.worlds import Factory, World

CHECKS: tuple[Callable[[World], None], ...] = (
    check_lists,
    check_scores,
    check_seeds,
    check_inputs,
    check_feedback,
    check_restore,
    check_memory,
    check_awkward,
    check_refusals,
    check_foreign,
    check_replay,
    check_shorter,
    check_take_over,
    check_increments,
    check_grades,
    check_account,
    check_tolerance_trait,
    check_query_ids,
    check_clone,
)


def check_ranker(factory: Factory, *, n_features: int = 5, n_groups: int = 2, seed: int = 0, rounds: int = 300) -> None:
    """Raise a `CheckFailed` that says which promise of the ranker contract `factory`'s rankers break, and how.

    `factory(seed)` makes a new ranker for queries with `n_features` features and groups 0..`n_groups` - 1. The
    checks show it the queries of `fairexp.checks.all_queries`, for a run of `rounds` rounds at the longest.

    >>> from fairexp.rankers.baselines.controls import RandomRanker
    >>> check_ranker(lambda seed: RandomRanker(5, seed=seed))
    """
    world = World(factory, n_features=n_features, n_groups=n_groups, seed=seed, rounds=rounds)
    for check in CHECKS:
        check(world)
