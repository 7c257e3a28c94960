"""From what a request asks for to candidates that a policy can rank, or to an error that names the field."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairexp.arrays import Ints
from fairexp.service.bodies.decode import Asked
from fairexp.service.engine.runtime import Candidates, Runtime
from fairexp.service.log.records import Floats32
from fairexp.service.policies.spec import PolicySpec
from fairexp.service.problems import ServiceError, invalid


def candidates_of(asked: Asked, runtime: Runtime, read_for: PolicySpec) -> Candidates:
    """The candidates, checked against the version of the policy that is in force, and scaled."""
    spec = runtime.spec
    if spec is not read_for and (spec.features, spec.group_field) != (read_for.features, read_for.group_field):
        raise ServiceError(
            "policy_changed", "policy: changed while the request was read; try again", status=503, retry_after=1.0
        )
    if asked.problem is not None:
        code, message, status, field = asked.problem
        raise ServiceError(code, message, status=status, field=field)
    if runtime.needs_query_id:
        _check_query(asked, runtime)
    groups, features = _paths(asked, spec)
    return Candidates(
        ids=asked.ids,
        groups=_group_numbers(asked.groups, spec, groups),
        features=_finite(runtime.scaling(asked.features), spec, features),
        k=_checked_k(asked.k, spec),
        context=asked.context,
        asked=asked.digest,
        whole=asked.form == "items",
    )


def _check_query(asked: Asked, runtime: Runtime) -> None:
    """Refuse what a ranker that learns of each query by itself cannot know again, or cannot hold."""
    ranker, most = runtime.spec.ranker, runtime.parameters["max_documents"]
    if "query_id" not in asked.context:
        remedy = "Send the same id with the same query every time."
        if asked.form == "items":
            remedy = "Metarank's form has none: ask /v1/policies/POLICY/rank."
        raise invalid("query_id", "nothing", f"the query's id, by which {ranker} knows what it has learned", remedy)
    if len(asked.ids) > most:
        raise invalid(
            asked.form, f"{len(asked.ids)} candidates", f"at most {most}, the parameter max_documents of {ranker}"
        )


def _paths(asked: Asked, spec: PolicySpec) -> tuple[str, str | None]:
    """How the fields of group and feature are called in an error, by row and column."""
    if asked.form == "candidates":
        return "candidates[{}].group", "candidates[{}].features[{}]"
    if asked.form == "ids":
        return "groups[{}]", None
    name = (spec.group_field or "").replace("{", "{{").replace("}", "}}")
    return "items[{}].fields" + (f" ({name})" if name else ""), "items[{}].fields"


def _checked_k(k: int | None, spec: PolicySpec) -> int | None:
    if k is not None and k > spec.length:
        raise invalid("k", k, f"at most {spec.length}, the policy's length")
    return k


def _group_numbers(names: Sequence[str | None], spec: PolicySpec, where: str) -> Ints | None:
    if not spec.groups:
        return None
    known = {name: number for number, name in enumerate(spec.groups)}
    try:
        return np.array([known[name] for name in names], dtype=np.int64)  # type: ignore[index]
    except KeyError:
        number = next(number for number, name in enumerate(names) if name not in known)
        given = names[number]
        raise invalid(
            where.format(number), "nothing" if given is None else repr(given[:80]), f"one of {', '.join(known)}"
        ) from None


def _finite(features: Floats32, spec: PolicySpec, where: str | None) -> Floats32:
    finite = np.isfinite(features)
    if finite.all():
        return features
    row, column = (int(index) for index in np.argwhere(~finite)[0])
    field = "features" if where is None else where.format(row, column)
    given = f"{features[row, column]} at row {row}, column {column} ({spec.feature_names[column]})"
    raise invalid(field, given, "finite float32 numbers, after scaling too")
