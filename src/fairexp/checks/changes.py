"""Promises about change: what was learned stays when features are put in another order or in other units."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fairexp.checks.failure import demand, keeping
from fairexp.checks.worlds import World
from fairexp.errors import StateError
from fairexp.remap import Remap

CLOSE = 1e-6


def check_take_over(world: World) -> None:
    """A ranker that takes over from another scores as it did, and learns from what that one has shown.

    Features come back to front, and unless the ranker says `rescaling = "none"` each in twice its unit. A ranker that
    refuses with a `StateError` keeps the promise too: nobody is led to believe that something was kept.
    """
    promise = "what was learned is taken over by feature"
    original = world.make(world.seed)
    world.play(original, world.n_short)
    waiting = [original.rank(world.query(number)) for number in range(2)]
    names = [str(number) for number in range(world.n_features)]
    factors = np.full(world.n_features, 1.0 if original.rescaling == "none" else 0.5)
    groups = [str(number) for number in range(world.n_groups)]
    remap = Remap.by_name(names[::-1], before=names, factors=factors, groups=groups, groups_before=groups)
    changed = world.make(world.seed + 1)
    with keeping(promise):
        try:
            changed.take_over(original, remap)
        except StateError:
            return
        if original.scores_unseen and original.rescaling != "none":
            features = world.query(0).features
            before, after = original.score(features), changed.score(features[:, ::-1] * factors)
            close = np.allclose(before, after, rtol=CLOSE, atol=CLOSE)
            demand(close, promise, f"features scored {before[:3]} before and {after[:3]} after; see _take_over()")
        demand(changed.n_ranked == original.n_ranked, promise, f"it has shown {changed.n_ranked} rankings")
        for number, ranking in enumerate(waiting):
            changed.update(changed.translated(ranking, remap), world.click(ranking, number))
        query = world.query(0)
        changed.rank(replace(query, features=query.features[:, ::-1] * factors))
