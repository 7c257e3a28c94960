"""One run, from objects (`simulate`) or from settings that name everything (`run`): checked, foreseen, and played."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fairexp.arrays import Floats
from fairexp.errors import ArgumentError, RunWarning, ToleranceWarning
from fairexp.fairness.exposure import exposure_curve
from fairexp.lab.data import Dataset, open_data
from fairexp.lab.simulation.environment import RECIPROCAL, Environment, Targets, ranker_for, targets_of
from fairexp.lab.simulation.forecast import forecast
from fairexp.lab.simulation.loop import play_measured
from fairexp.lab.simulation.recorder import NOTHING_MORE, Recording
from fairexp.lab.simulation.result import Result
from fairexp.lab.simulation.settings import EQUAL, DataSettings, Parts, RunSettings, loaded_parts, shares_of
from fairexp.lab.users import User, load_user
from fairexp.lab.users.dependent import PRESET_NAMES
from fairexp.measures import ZERO, check_irrelevant
from fairexp.prior import Prior
from fairexp.randomness import check_seed, stream_of
from fairexp.ranker import Ranker
from fairexp.validation import as_path, check_callable, check_count, check_kind, check_mapping

LENGTH = 10
"""How many documents a ranker shows that is given by name."""

RANKER_STREAM, USER_STREAM = 7_004, 7_005
"""Set the random numbers of rankers and users that are given by name apart from those that draw the queries."""

Path_ = str | os.PathLike[str]


def simulate(
    ranker: Ranker | str,
    train: Dataset | Path_,
    user: User | Path_,
    *,
    rounds: int,
    exposure: str | Path | ArrayLike | None = None,
    shares: str | ArrayLike | None = None,
    heldout: Dataset | Path_ | None = None,
    validation: Dataset | Path_ | None = None,
    seed: int | np.random.SeedSequence = 0,
    n_points: int = 40,
    irrelevant: str = ZERO,
    folder: Path_ | None = None,
    settings: Mapping[str, Any] | None = None,
    recording: Recording | str = NOTHING_MORE,
    progress: Callable[[dict[str, Any]], None] | None = None,
) -> Result:
    """Let a ranker learn from simulated users, and measure it.

    What limits the meaning of the result (no relevant document, one group only, held-out data that is also trained on,
    a tolerance that many rounds cannot keep) is a `RunWarning` before the first round, and in `Result.notes`.

    An interrupt (Ctrl-C) ends the run at the end of the round, with all rounds so far kept, and `interrupted` True; so
    does a KeyboardInterrupt that `progress` raises. A second one is raised at once.

    Args:
        ranker: A ranker, or the name of one (`fairexp rankers`), which then shows 10 documents.
        train: The data to serve from, or its name or file (`open_data`).
        user: Who clicks, or the name or file of a user (`load_user`).
        rounds: How many queries are served.
        exposure: Attention by position, as in `exposure_curve`. Default: the ranker's own, else "reciprocal".
        shares: What the groups are owed: "equal", "size", "average_utility", "total_utility", or a number per group.
            Default: the ranker's own, else "equal".
        heldout: Data to evaluate on at checkpoints; of a world's name, its test part.
        validation: Data to evaluate on after the last round.
        seed: Draws the queries; also the random numbers of a ranker and a user that are given by name.
        n_points: About how many checkpoints there are.
        irrelevant: What NDCG does with queries without a relevant document: "zero" or "skip".
        folder: Where to keep settings, trace and result. Default: nowhere.
        settings: What else to keep beside the run, such as the `ranker`'s name for charts.
        recording: What else to keep and measure; text names columns of the trace.
        progress: Called with the row of every round.

    Raises:
        ArgumentError: An argument makes no sense, or `exposure` or `shares` contradict the ranker's own.

    Examples:
        >>> simulate("pairrank", "yahoo-9", "navigational", rounds=5)["max UF"] is not None
        True
    """
    check_seed(seed)
    data = _part("train", train, "train")
    parts = _matched(
        data,
        None if heldout is None else _part("heldout", heldout, "test"),
        None if validation is None else _part("validation", validation, "vali"),
    )
    with _noted() as notes:
        player = _ranker_by_name(ranker, data, exposure, shares, seed) if isinstance(ranker, str) else ranker
    check_kind("ranker", player, Ranker, "a fairexp.Ranker, or the name of one")
    browser = user if isinstance(user, User) else _user_by_name(user, train, data, seed)
    targets = targets_of(player, data, exposure=exposure, shares=shares)
    recorded = Recording(recording) if isinstance(recording, str) else recording
    own = {
        "ranker": ranker if isinstance(ranker, str) else type(player).__name__,
        "user": str(user) if not isinstance(user, User) else type(user).__name__,
        "seed": seed if isinstance(seed, int) else None,
        **check_mapping("settings", {} if settings is None else settings, "values by name"),
        "rounds": rounds,
        "n_points": n_points,
    }
    _check(player, parts, browser, rounds=rounds, n_points=n_points)
    notes += forecast(player, data, targets, rounds=rounds, heldout=parts[1], validation=parts[2])
    for note in notes:
        warnings.warn(note, RunWarning, stacklevel=2)
    check_callable("progress", progress)
    return play_measured(
        player,
        data,
        browser,
        rounds=rounds,
        targets=targets,
        heldout=parts[1],
        validation=parts[2],
        seed=seed,
        n_points=n_points,
        irrelevant=check_irrelevant(irrelevant),
        folder=None if folder is None else as_path("folder", folder, "a folder to keep the run in"),
        settings=own,
        recording=check_kind("recording", recorded, Recording, "a Recording, or names of columns"),
        progress=progress,
        notes=notes,
    )


class PlannedRun:
    """The run that `settings` name, ready to be played. One root seed gives the streams of queries, ranker and user.

    `data` are the parts that `settings` name, where they are at hand; else they are loaded, and the last few kept.
    `notes` is what can be known before it.
    """

    def __init__(self, settings: RunSettings, *, data: Parts | None = None) -> None:
        self.settings = settings
        self.parts = _matched(*(loaded_parts(settings.data, settings.validate) if data is None else data))
        train, heldout, validation = self.parts
        self._queries, _, user_seed = _seeds(settings)
        with _noted() as self.notes:
            self.ranker = ranker_of(settings, train)
        n_grades = settings.data.n_grades(train) if settings.user in PRESET_NAMES else None
        self.user = load_user(settings.user, n_grades=n_grades, stop_after=settings.stop_after, seed=user_seed)
        self.targets = targets_of(self.ranker, train, exposure=_curve(settings), shares=settings.shares)
        _check(self.ranker, self.parts, self.user, rounds=settings.rounds, n_points=settings.n_points)
        self.notes += forecast(
            self.ranker, train, self.targets, rounds=settings.rounds, heldout=heldout, validation=validation
        )

    def play(self, *, folder: Path | None = None, progress: Callable[[dict[str, Any]], None] | None = None) -> Result:
        """Play it, once."""
        settings, (train, heldout, validation) = self.settings, self.parts
        return play_measured(
            self.ranker,
            train,
            self.user,
            rounds=settings.rounds,
            targets=self.targets,
            heldout=heldout,
            validation=validation,
            seed=self._queries,
            n_points=settings.n_points,
            irrelevant=settings.irrelevant,
            folder=folder,
            settings=asdict(settings),
            recording=settings.recording,
            progress=progress,
            notes=self.notes,
        )


def run(
    settings: RunSettings,
    *,
    data: Parts | None = None,
    folder: Path | None = None,
    progress: Callable[[dict[str, Any]], None] | None = None,
) -> Result:
    """Build what `settings` name and simulate it (see `PlannedRun`)."""
    return PlannedRun(settings, data=data).play(folder=folder, progress=progress)


def ranker_of(settings: RunSettings, train: Dataset) -> Ranker:
    """The ranker that a run on `train` begins with."""
    targets = Targets(_curve(settings), shares_of(settings.shares, train))
    environment = _environment(train, targets, settings.length, _seeds(settings)[1])
    return ranker_for(settings.ranker, environment, settings.parameters)


def _curve(settings: RunSettings) -> Floats:
    return exposure_curve(settings.exposure, settings.length)


def _seeds(settings: RunSettings) -> list[np.random.SeedSequence]:
    """The streams of queries, ranker and user."""
    return np.random.SeedSequence(settings.seed).spawn(3)


def _environment(train: Dataset, targets: Targets, length: int, seed: np.random.SeedSequence) -> Environment:
    return Environment(
        n_features=train.n_features,
        length=length,
        exposure=targets.exposure,
        shares=targets.shares,
        grades=lambda: {train.query_ids[i]: train.relevance(i) for i in range(train.n_queries)},
        seed=seed,
        feature_names=train.feature_names,
        scaling=train.scaling,
    )


def _ranker_by_name(
    name: str,
    train: Dataset,
    exposure: str | Path | ArrayLike | None,
    shares: str | ArrayLike | None,
    seed: int | np.random.SeedSequence,
) -> Ranker:
    curve = exposure_curve(RECIPROCAL if exposure is None else exposure, LENGTH)
    targets = Targets(curve, shares_of(EQUAL if shares is None else shares, train))
    return ranker_for(name, _environment(train, targets, LENGTH, stream_of(seed, RANKER_STREAM)))


def _user_by_name(user: Path_, train: Dataset | Path_, data: Dataset, seed: int | np.random.SeedSequence) -> User:
    source = DataSettings(data.name if isinstance(train, Dataset) else str(train))
    n_grades = source.n_grades(data) if str(user) in PRESET_NAMES else None
    return load_user(user, n_grades=n_grades, seed=stream_of(seed, USER_STREAM))


def _part(name: str, given: Dataset | Path_, part: str) -> Dataset:
    if isinstance(given, Dataset):
        return given
    return open_data(as_path(name, given, "a Dataset, or the name or file of one"), part=part)


def _matched(train: Dataset, *others: Dataset | None) -> Parts:
    """The parts with the features of others in the order of those of `train`."""
    heldout, validation = (None if each is None else each.with_features_of(train) for each in others)
    return train, heldout, validation


@contextmanager
def _noted() -> Iterator[list[str]]:
    """What is warned of inside, as notes."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ToleranceWarning)
        yield notes
    for warning in caught:
        if issubclass(warning.category, ToleranceWarning):
            notes.append(str(warning.message))
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)


def _check(ranker: Ranker, parts: Parts, user: User, *, rounds: int, n_points: int) -> None:
    """What cannot be played is rejected before the first round, and before a folder is made."""
    check_count("rounds", rounds)
    check_count("n_points", n_points)
    train = parts[0]
    for name, data in zip(("train", "heldout", "validation"), parts, strict=True):
        if data is not None and data.n_features != ranker.n_features:
            told = f"{ranker.n_features}, which the ranker was built with"
            raise ArgumentError(name, f"data with {data.n_features} features", told)
    _check_prior(ranker, train)
    if ranker.keeps_account and train.groups is None:
        told = f"data with groups, which {type(ranker).__name__} keeps fair"
        raise ArgumentError("train", "data without groups", told, "Group it, e.g. with train.grouped('130:0.12').")
    if train.max_grade >= user.n_grades:
        told = f"one for grades 0 to {train.max_grade}, which the data has"
        raise ArgumentError("user", f"a user for grades 0 to {user.n_grades - 1}", told)


def _check_prior(ranker: Ranker, train: Dataset) -> None:
    """Refuse a prior whose weights are known to be for other features than those of `train`."""
    prior = getattr(ranker.learner, "prior", None)
    if isinstance(prior, Prior) and prior.for_features(train.feature_names, scaling=train.scaling) is not prior:
        remedy = "Start from prior.for_features(data.feature_names, scaling=data.scaling)."
        raise ArgumentError("prior", "the same in another order", "the features of the data in their order", remedy)
