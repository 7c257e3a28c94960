"""What is settled before the first run: the data's contents and groups, what groups are owed, exposure by position."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from fairexp.errors import ArgumentError, FairexpError
from fairexp.fairness.exposure import estimate_exposure, exposure_curve
from fairexp.lab.data import Dataset, contents, group_table
from fairexp.lab.experiments.plan.run import user_content, user_name
from fairexp.lab.experiments.plan.sources import data_settings, is_synthetic
from fairexp.lab.experiments.plan.spec import RANDOMISED, DataSpec, Experiment
from fairexp.lab.experiments.store import Json, Store, read_json, write_json
from fairexp.lab.simulation.settings import DataSettings, loaded_parts, shares_of
from fairexp.lab.users import load_user
from fairexp.lab.users.dependent import PRESET_NAMES
from fairexp.lab.users.interventions import randomised_clicks
from fairexp.statistics import Sharing

EXPOSURE_STREAM = 7_001
"""Sets the randomised sessions apart from every run's own random numbers."""


@dataclass(frozen=True)
class Prepared:
    """One fold of one data set: what it holds, what its groups are owed, and the exposure curve (k,) by user."""

    settings: DataSettings
    fingerprint: str
    n_queries: int
    n_documents: int
    n_features: int
    contents: str
    """What features and groups are called."""
    synthetic: bool
    groups: list[dict[str, Any]]
    shares: tuple[float, ...]
    served: frozenset[str]
    """The queries of the training part, known again in another fold by id and grades."""
    exposure: dict[str, tuple[float, ...]] = field(default_factory=dict)

    @property
    def beta(self) -> float:
        """What group 0 is owed per unit of group 1."""
        return self.shares[0] / self.shares[1]


def prepare(
    experiment: Experiment, store: Store | None = None, *, tell: Callable[[str], None] = lambda line: None
) -> dict[tuple[str, int], Prepared]:
    """Load every fold of every data set, check it, and estimate exposure; estimates in `store` are used again."""
    for user in set(experiment.users) - set(PRESET_NAMES):
        load_user(user, stop_after=experiment.stop_after)  # refuse a name or a file that is none, first of all
    prepared = {}
    for label, spec in experiment.data.items():
        for fold in spec.fold_list:
            tell(f"preparing {label}, fold {fold}")
            try:
                prepared[label, fold] = _prepare_fold(experiment, label, spec, fold, store)
                tell(f"{label}, fold {fold}: {prepared[label, fold].contents}")
            except FairexpError as error:
                if isinstance(error, ArgumentError) and error.argument.startswith("data."):
                    raise
                raise ArgumentError(
                    f"data.{label}, fold {fold}", str(error), "data that the experiment can use"
                ) from error
    return prepared


def fingerprint(*parts: Dataset | None) -> str:
    """A digest of everything that a ranker or a metric could see of the data."""
    digest = hashlib.blake2b(digest_size=12)
    for data in parts:
        if data is None:
            digest.update(b"none")
            continue
        for array in (data.features, data.grades, data.offsets, data.groups):
            if array is not None:
                digest.update(np.ascontiguousarray(array).data)
        digest.update(repr((data.features.shape, data.blanked)).encode())
    return digest.hexdigest()


def _prepare_fold(experiment: Experiment, label: str, spec: DataSpec, fold: int, store: Store | None) -> Prepared:
    settings = data_settings(label, spec, fold)
    parts = loaded_parts(settings, True) if experiment.needs_validation else (*settings.load(), None)
    train = parts[0]
    if train.groups is None:
        raise ArgumentError(f"data.{label}.group", "nothing", "a rule that groups documents")
    made = Prepared(
        settings=settings,
        fingerprint=fingerprint(*parts),
        n_queries=train.n_queries,
        n_documents=train.n_documents,
        n_features=train.n_features,
        contents=contents(train),
        synthetic=is_synthetic(spec),
        groups=[asdict(row) for row in group_table(train)],
        shares=_shares(experiment, spec, train),
        served=_queries(train),
    )
    for user in experiment.users:
        made.exposure[user] = _exposure(experiment, made, train, user, fold, f"exposure/{label}/fold-{fold}", store)
    return made


def _queries(train: Dataset) -> frozenset[str]:
    grades = (train.relevance(index).tobytes() for index in range(train.n_queries))
    return frozenset(
        f"{query} {hashlib.blake2b(own, digest_size=8).hexdigest()}"
        for query, own in zip(train.query_ids, grades, strict=True)
    )


def sharing(folds: Mapping[tuple[str, int], Prepared], label: str) -> Sharing:
    """Which part of their queries the folds of a data set have in common."""
    own = {fold: made.served for (data, fold), made in folds.items() if data == label}
    return Sharing.of(list(own.values()), own)


def _shares(experiment: Experiment, spec: DataSpec, train: Dataset) -> tuple[float, ...]:
    rule = experiment.beta
    if rule == "paper":
        assert spec.paper_beta is not None
        return (spec.paper_beta, 1.0)
    if not isinstance(rule, str):
        return (float(rule), 1.0)
    shares = shares_of(rule, train)
    assert shares is not None
    return tuple(shares.tolist())


def _exposure(
    experiment: Experiment, made: Prepared, train: Dataset, user: str, fold: int, place: str, store: Store | None
) -> tuple[float, ...]:
    """The curve for one user, by name or estimated on rankings that are shuffled for the purpose."""
    if experiment.exposure != RANDOMISED:
        return tuple(exposure_curve(experiment.exposure, experiment.length).tolist())
    asked: Json = {
        "fingerprint": made.fingerprint,
        "user": user_content(user),
        "stop_after": experiment.stop_after,
        "length": experiment.length,
        "sessions": experiment.exposure_sessions,
    }
    name = f"{place}/{user_name(user)}.json"
    kept = None if store is None else read_json(store, name)
    if kept is not None and kept["asked"] == asked:
        return tuple(kept["exposure"])
    seeds = np.random.SeedSequence([EXPOSURE_STREAM, fold]).spawn(2)
    n_grades = made.settings.n_grades(train) if user in PRESET_NAMES else None
    reader = load_user(user, n_grades=n_grades, stop_after=experiment.stop_after, seed=seeds[0])
    clicks = randomised_clicks(
        train, reader, length=experiment.length, n_sessions=experiment.exposure_sessions, seed=seeds[1]
    )
    estimate = estimate_exposure(clicks)
    curve = exposure_curve(estimate.curve, experiment.length).tolist()
    if store is not None:
        record = {"asked": asked, "exposure": curve, "standard_error": estimate.standard_error.tolist()}
        write_json(store, name, record)
    return tuple(curve)
