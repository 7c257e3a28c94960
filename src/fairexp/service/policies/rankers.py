"""From a policy to its ranker."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from fairexp.arrays import Floats
from fairexp.errors import ArgumentError, FairexpError, MissingExtraError, ToleranceWarning
from fairexp.fairness.constraint import Constraint
from fairexp.fairness.fairexp import FairExp
from fairexp.fairness.feasibility import coarse_curve
from fairexp.prior import EVEN_SPREAD, Prior
from fairexp.ranker import Ranker
from fairexp.rankers.bandits.per_query import PerQuery
from fairexp.registry import construct, parameters_of, ranker_names
from fairexp.service.problems import ServiceError, invalid
from fairexp.types import Query

if TYPE_CHECKING:
    from fairexp.service.policies.constraints import ConstraintSpec
    from fairexp.service.policies.spec import PolicySpec

RANKERS = tuple(name for name in ranker_names() if "grades" not in parameters_of(name))
"""The rankers that a policy may name: all but those that must know the grades of documents. Import paths are not among
them, because a request must not be able to load code."""

ORDER_SPREAD = 1.0
"""The mean squared difference between the logarithms of two of the first ten positions, about."""

LARGEST = 1e15
"""Numbers beyond this have no use as parameters, and not all of them would come back from the store as they were."""

LARGEST_STATE = 900_000_000
"""Most bytes that a ranker may come to hold: the stores take no snapshot of more than a billion."""

LARGE_STATE = 100_000_000
"""From here on a policy's answer warns of it."""

SET_BY_POLICY = (
    *("n_features", "length", "seed", "exposure", "tolerance", "shares", "beta", "n_groups", "constraints", "prior"),
    "top_grade",
)


def resolve_parameters(
    spec: PolicySpec, *, before: tuple[PolicySpec, Mapping[str, Any]] | None = None
) -> dict[str, Any]:
    """Every parameter of the policy's ranker: as declared, else as it was in force `before`, else by default.

    They are kept with the version, so that a policy stays what it is when a later fairexp has other defaults. `before`
    is the version in force and its parameters; what it declared and `spec` does not goes back to the default.
    """
    settable = {key: value for key, value in parameters_of(spec.ranker).items() if key not in SET_BY_POLICY}
    for key, value in spec.parameters.items():
        if key not in settable:
            known = ", ".join(sorted(settable)) or "no parameters"
            raise invalid(f"parameters.{key}", "a parameter it does not have", f"one that {spec.ranker} has: {known}")
        _check_plain(key, value)
    resolved = {}
    for key, parameter in settable.items():
        if key in spec.parameters:
            resolved[key] = spec.parameters[key]
        elif before is not None and before[0].ranker == spec.ranker and key in before[1].keys() - before[0].parameters:
            resolved[key] = before[1][key]
        elif parameter.default is inspect.Parameter.empty:
            raise invalid(f"parameters.{key}", "nothing", f"a value, which {spec.ranker} needs")
        else:
            resolved[key] = parameter.default
    if "top_grade" in parameters_of(spec.ranker):
        resolved["top_grade"] = spec.feedback.grades
    return resolved


def _check_plain(key: str, value: Any) -> None:
    """Parameters come as JSON; nested structures other than lists of numbers have no use here."""
    items = value if isinstance(value, list) else [value]
    plain = (int, float) if isinstance(value, list) else (int, float, str)
    for item in items:
        if not isinstance(item, plain) or (isinstance(item, bool) and isinstance(value, list)):
            raise invalid(f"parameters.{key}", type(value).__name__, "a number, a text, true or false, or numbers")
        if isinstance(item, int | float) and not abs(item) < LARGEST:
            raise invalid(f"parameters.{key}", "a number that is too large", f"numbers below {LARGEST:g}")


def build_ranker(
    spec: PolicySpec, parameters: Mapping[str, Any], *, scale: Floats | None = None
) -> tuple[Ranker, list[str]]:
    """The ranker that `spec` describes with resolved `parameters`, new, and what its construction warned of.

    `scale` (d,) is what features are divided by before the ranker sees them, beyond what the policy declares.
    """
    known: dict[str, Any] = {
        "n_features": spec.n_features,
        "length": spec.length,
        "seed": spec.seed,
        "exposure": spec.exposure,
        "prior": prior_of(spec, np.ones(spec.n_features) if scale is None else scale),
    }
    if spec.constraints:
        known.update(constraints=[_constraint(each) for each in spec.constraints])
    elif spec.groups:
        known.update(tolerance=spec.tolerance, shares=spec.shares, n_groups=len(spec.groups))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            ranker = construct(spec.ranker, parameters, known=known)
        except ArgumentError as error:
            own = error.argument in SET_BY_POLICY
            field = error.argument if own else f"parameters.{error.argument}"
            raise invalid(field, error.given, error.expected, error.remedy) from None
        except MissingExtraError as error:
            raise ServiceError("invalid", f"ranker: {error}", field="ranker") from None
        except (MemoryError, OverflowError, TypeError, ValueError) as error:
            raise invalid("parameters", f"some with which no ranker can be made ({error})", "others") from error
    if ranker.n_features != spec.n_features:  # fixed weights bring their own number
        raise invalid("parameters.weights", f"{ranker.n_features} numbers", f"{spec.n_features}, one per feature")
    notes = [str(warning.message) for warning in caught if not issubclass(warning.category, ToleranceWarning)]
    if spec.feedback.grades > 1 and not ranker.uses_grades:
        notes.append(f"feedback.grades: {spec.ranker} takes a click for a click, so they change nothing")
    if ranker.keeps_history:
        notes.append("parameters: with these the ranker keeps its whole history, so its memory grows without bound")
    return ranker, [*notes, *_about_size(ranker)]


def curve_notes(ranker: Ranker) -> list[str]:
    """Where the exposure curve keeps a constraint from being kept, whatever candidates requests bring.

    Apart from `build_ranker`, because of more than two groups it takes a while, and is told once.
    """
    if not isinstance(ranker, FairExp):
        return []
    found = []
    for each in ranker.constraints:
        told = None if isinstance(each.owed, str) else coarse_curve(ranker.exposure, each.owed, each.tolerance)
        if told is not None:
            found.append(told if each.is_plain else f"constraints.{each.name}.{told}")
    return found


def _constraint(spec: ConstraintSpec) -> Constraint:
    names, sizes = zip(*spec.attributes, strict=True)
    fixed = spec.fixed_shares
    return Constraint(
        spec.tolerance,
        by=names,
        shares=spec.shares if fixed is None else fixed.reshape(sizes),  # type: ignore[arg-type]
        n_groups=sizes,
        window=spec.window,
        half_life=spec.half_life,
        per=spec.per,
        max_ledgers=spec.max_ledgers,
        name=spec.title,
    )


def _about_size(ranker: Ranker) -> list[str]:
    """A warning where what is known of queries may grow large; more than the store can keep is refused."""
    learner = ranker.learner
    if not isinstance(learner, PerQuery):
        return []
    most, limits = learner.queries.most_bytes, f"{learner.max_queries} queries of {learner.max_documents} documents"
    if most > LARGEST_STATE:
        field, told = "parameters.max_queries", f"{limits}, which may come to {most / 1e6:,.0f} MB"
        raise invalid(field, told, f"at most {LARGEST_STATE / 1e6:,.0f} MB", "Lower it or max_documents.")
    if most < LARGE_STATE:
        return []
    return [
        f"parameters: {limits} may come to {most / 1e6:,.0f} MB of memory and of each snapshot; lower max_queries or "
        "max_documents to what is needed"
    ]


def prior_of(spec: PolicySpec, scale: Floats) -> Prior | None:
    """The policy's prior in the units that its ranker sees, which divides by `scale` (d,) beyond what is declared.

    Where each query is scaled by its own range, weights are by that range, and so is what is given of the spread.
    """
    if spec.prior is None:
        return None
    declared = [1.0 if spec.scaling == "query" else column.scale or 1.0 for column in spec.columns]
    units = np.array(declared) * scale
    named = dict(spec.prior.weights)
    spreads = dict(spec.prior.spread)
    if spec.prior.caller_order is not None:
        named[spec.columns[-1].name] = spec.prior.caller_order
        spreads.setdefault(spec.columns[-1].name, ORDER_SPREAD)
    weights = np.array([named.get(name, 0.0) for name in spec.feature_names])
    given = np.array([spreads.get(name, np.nan) for name in spec.feature_names]) / np.square(units)
    spread = np.where(np.isnan(given), EVEN_SPREAD, given)
    return Prior(weights * units, strength=spec.prior.strength, spread=spread)


def weights_of(ranker: Ranker) -> Floats | None:
    """The linear model (d,) of a ranker, where it has one."""
    return ranker.linear_model()


def try_out(spec: PolicySpec) -> None:
    """Rank and learn with a throw-away ranker: what cannot work is refused before it serves."""
    ranker, _ = build_ranker(spec, resolve_parameters(spec))
    rng = np.random.default_rng(0)
    for n in (max(2 * spec.length, 4), 2, 1):
        groups = np.arange(n) % len(spec.groups) if spec.groups else None
        features = rng.random((n, spec.n_features)).astype(np.float32).astype(np.float64)
        labels = {name: np.arange(n) % len(labels) for name, labels in spec.attributes.items()}
        query = Query(features, groups, query_id="q", document_ids=np.arange(n), labels=labels, segment="s")
        try:
            for clicked in (0, -1):
                ranking = ranker.rank(query)
                ranker.update(ranking, np.arange(len(ranking)) == range(len(ranking))[clicked])
        except FairexpError as error:
            raise ServiceError("invalid", f"parameters: the ranker does not work with them ({error})") from error
