"""From a policy to its ranker, and from an old ranker to a new one that keeps what it can."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from fairexp.errors import ArgumentError, FairexpError, StateError
from fairexp.fairness.fairco import FairCo
from fairexp.fairness.fairexp import FairExp
from fairexp.rankers.base import Explorer, Ranker
from fairexp.rankers.controls import FixedScores, RandomRanker
from fairexp.rankers.dbgd import DBGD
from fairexp.rankers.pairrank import PairRank
from fairexp.rankers.pdgd import PDGD
from fairexp.service.problems import ServiceError, invalid
from fairexp.types import Floats, Query

if TYPE_CHECKING:
    from fairexp.service.policy import PolicySpec

FAIR = "fairexp-"
_PLAIN: dict[str, Callable[..., Ranker]] = {
    "pairrank": PairRank,
    "pdgd": PDGD,
    "dbgd": DBGD,
    "fairco": FairCo,
    "fixed": FixedScores,
    "random": RandomRanker,
}
RANKERS = ("fairexp-pairrank", "fairexp-fixed", "fairexp-random", *_PLAIN)
"""The rankers that a policy may name. Import paths are not among them: a request must not be able to load code."""

SET_BY_POLICY = ("host", "n_features", "length", "seed", "exposure", "tolerance", "shares", "beta", "n_groups")


def build_ranker(spec: PolicySpec) -> tuple[Ranker, list[str]]:
    """The ranker that `spec` describes, new, and what its construction warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            ranker = _fair(spec) if spec.ranker.startswith(FAIR) else _construct(_PLAIN[spec.ranker], spec, {})
        except ArgumentError as error:
            own = error.argument in SET_BY_POLICY
            field = error.argument if own else f"parameters.{error.argument}"
            raise invalid(field, error.given, error.expected, error.remedy) from None
        except (MemoryError, OverflowError, TypeError, ValueError) as error:
            raise invalid("parameters", f"some with which no ranker can be made ({error})", "others") from error
    if ranker.n_features != spec.n_features:  # fixed weights bring their own number
        raise invalid("parameters.weights", f"{ranker.n_features} numbers", f"{spec.n_features}, one per feature")
    notes = [str(warning.message) for warning in caught]
    if ranker.keeps_history:
        notes.append("parameters: with these the ranker keeps its whole history, so its memory grows without bound")
    return ranker, notes


def _fair(spec: PolicySpec) -> Ranker:
    own = _settable(FairExp)
    outer = {key: value for key, value in spec.parameters.items() if key in own}
    inner = {key: value for key, value in spec.parameters.items() if key not in own}
    host = _construct(_PLAIN[spec.ranker.removeprefix(FAIR)], spec, {}, inner, also=own)
    assert isinstance(host, Explorer)
    shares = np.array(list(spec.groups.values()))
    return FairExp(
        host, tolerance=spec.tolerance, shares=shares, exposure=spec.exposure, seed=spec.seed, **_plain(outer)
    )


def _construct(
    make: Callable[..., Ranker],
    spec: PolicySpec,
    extra: dict[str, Any],
    parameters: dict[str, Any] | None = None,
    also: tuple[str, ...] = (),
) -> Ranker:
    given = dict(spec.parameters if parameters is None else parameters)
    accepted = _settable(make)
    for key in given:
        if key not in accepted:
            known = ", ".join(sorted({*accepted, *also})) or "no parameters"
            raise invalid(f"parameters.{key}", "a parameter it does not have", f"one that {spec.ranker} has: {known}")
    known_values: dict[str, Any] = {
        "n_features": spec.n_features,
        "length": spec.length,
        "seed": spec.seed,
        "exposure": spec.exposure,
        "n_groups": len(spec.groups) or None,
        **extra,
    }
    signature = inspect.signature(make).parameters
    if "weights" in signature and "weights" not in given:
        raise invalid("parameters.weights", "nothing", "one weight per feature")
    return make(**{key: value for key, value in known_values.items() if key in signature}, **_plain(given))


def _settable(make: Callable[..., Ranker]) -> tuple[str, ...]:
    return tuple(key for key in inspect.signature(make).parameters if key not in SET_BY_POLICY)


def _plain(parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters as JSON brings them; nested structures other than lists of numbers have no use here."""
    for key, value in parameters.items():
        numbers = isinstance(value, list) and all(isinstance(x, int | float) and not isinstance(x, bool) for x in value)
        if not (numbers or isinstance(value, str | bool | int | float)):
            raise invalid(f"parameters.{key}", type(value).__name__, "a number, a text, true or false, or numbers")
    return parameters


def carry_over(old: Ranker, old_spec: PolicySpec, new: Ranker, new_spec: PolicySpec) -> str:
    """Put into `new` what `old` learned, as far as it still makes sense; says what was kept.

    "everything": model, ledger and the rankings that await feedback. "model": what was learned, with a fresh ledger.
    "nothing": a new start.
    """
    if old_spec.columns != new_spec.columns or old_spec.scaling != new_spec.scaling:
        return "nothing"
    same_groups = old_spec.group_names == new_spec.group_names
    if same_groups and old_spec.length == new_spec.length:
        try:
            new.restore(old.state())
            return "everything"
        except StateError:
            pass
    old_host = old.host if isinstance(old, FairExp) else old
    new_host = new.host if isinstance(new, FairExp) else new
    try:
        fresh = new_host.state()
        carried = {**old_host.state(), **{key: fresh[key] for key in ("identity", "n_ranked", "stream")}}
        if isinstance(new_host, FairCo):  # its ledger is part of its state
            carried.update({key: fresh[key] for key in ("spent", "seen", "seen_features")})
        new_host.restore(carried)
    except (StateError, KeyError):
        return "nothing"
    return "model"


def weights_of(ranker: Ranker) -> Floats | None:
    """The linear model (d,) of a ranker, where it has one."""
    host = ranker.host if isinstance(ranker, FairExp) else ranker
    if isinstance(host, PairRank):
        return host.model.theta
    weights = getattr(host, "weights", None)
    return weights if isinstance(weights, np.ndarray) else None


def warm_up(spec: PolicySpec) -> None:
    """Rank and learn with a throw-away ranker, so that compiled code is loaded before the first request."""
    ranker, _ = build_ranker(spec)
    rng = np.random.default_rng(0)
    for n in (max(2 * spec.length, 4), 2, 1):
        groups = np.arange(n) % len(spec.groups) if spec.groups else None
        features = rng.random((n, spec.n_features)).astype(np.float32).astype(np.float64)
        try:
            for clicked in (0, -1):
                ranking = ranker.rank(Query(features=features, groups=groups))
                ranker.update(ranking, np.arange(len(ranking)) == range(len(ranking))[clicked])
        except FairexpError as error:
            raise ServiceError("invalid", f"parameters: the ranker does not work with them ({error})") from error
