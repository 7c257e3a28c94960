"""One run: what its settings name is built, and simulated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from fairexp.data import Dataset
from fairexp.fairness.exposure import exposure_curve
from fairexp.rankers.base import Ranker
from fairexp.simulation.environment import Environment, ranker_for
from fairexp.simulation.loop import simulate
from fairexp.simulation.result import Result
from fairexp.simulation.settings import Parts, RunSettings, loaded_parts, shares_of
from fairexp.users import load_user
from fairexp.users.dependent import PRESET_NAMES
from fairexp.validation import check_count


def run(
    settings: RunSettings,
    *,
    data: Parts | None = None,
    folder: Path | None = None,
    progress: Callable[[dict[str, Any]], None] | None = None,
) -> Result:
    """Build what `settings` name and simulate it. One root seed gives the streams of queries, ranker and user.

    `data` are the parts that `settings` name, where they are at hand; else they are loaded, and the last few kept.
    """
    check_count("rounds", settings.rounds)
    train, heldout, validation = loaded_parts(settings.data, settings.validate) if data is None else data
    queries, _, user_seed = _seeds(settings)
    ranker = ranker_of(settings, train)
    n_grades = settings.data.n_grades(train) if settings.user in PRESET_NAMES else None
    user = load_user(settings.user, n_grades=n_grades, stop_after=settings.stop_after, seed=user_seed)
    return simulate(
        ranker,
        train,
        user,
        rounds=settings.rounds,
        exposure=exposure_curve(settings.exposure, settings.length),
        shares=shares_of(settings.shares, train),
        heldout=heldout,
        validation=validation,
        seed=queries,
        n_points=settings.n_points,
        irrelevant=settings.irrelevant,
        folder=folder,
        settings=asdict(settings),
        recording=settings.recording,
        progress=progress,
    )


def ranker_of(settings: RunSettings, train: Dataset) -> Ranker:
    """The ranker that a run on `train` begins with."""
    environment = Environment(
        n_features=train.n_features,
        length=settings.length,
        exposure=exposure_curve(settings.exposure, settings.length),
        shares=shares_of(settings.shares, train),
        grades=lambda: {train.query_ids[i]: train.relevance(i) for i in range(train.n_queries)},
        seed=_seeds(settings)[1],
        feature_names=train.feature_names,
        scaling=train.scaling,
    )
    return ranker_for(settings.ranker, environment, settings.parameters)


def _seeds(settings: RunSettings) -> list[np.random.SeedSequence]:
    """The streams of queries, ranker and user."""
    return np.random.SeedSequence(settings.seed).spawn(3)
