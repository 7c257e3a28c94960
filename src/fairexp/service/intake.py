"""From a request's body to candidates that a policy can rank, or to an error that names the field."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Any

import numpy as np

from fairexp.arrays import Ints
from fairexp.service.policy import PolicySpec
from fairexp.service.problems import invalid
from fairexp.service.records import Floats32
from fairexp.service.requests import digest_of_candidates
from fairexp.service.runtime import Candidates, Runtime
from fairexp.service.schemas import MetarankRanking, RankRequest
from fairexp.service.settings import Settings


def candidates_of(request: RankRequest, runtime: Runtime, settings: Settings) -> Candidates:
    """The candidates of either form of request, checked and scaled."""
    spec = runtime.spec
    if (request.candidates is None) == (request.ids is None and request.features is None):
        raise invalid("candidates", "both forms or none", "either candidates, or ids, groups and features")
    if request.candidates is not None:
        if request.groups is not None:
            raise invalid("groups", "a list besides candidates", "each candidate's own group")
        _check_number("candidates", len(request.candidates), settings)
        ids = [candidate.id for candidate in request.candidates]
        names: Sequence[str | None] = [candidate.group for candidate in request.candidates]
        features = _from_rows([candidate.features for candidate in request.candidates], spec)
        where = "candidates[{}]"
    else:
        if request.ids is None or request.features is None:
            missing = "ids" if request.ids is None else "features"
            raise invalid(missing, "nothing", "ids and features together")
        _check_number("ids", len(request.ids), settings)
        ids = request.ids
        names = [None] * len(ids) if request.groups is None else request.groups
        if len(names) != len(ids):
            raise invalid("groups", f"{len(names)} groups", f"{len(ids)}, one per id")
        features = _from_base64(request.features, len(ids), spec)
        where = None
    _check_ids(ids, "ids[{}]" if where is None else f"{where}.id")
    context = {
        "request_id": request.request_id,
        "query_id": request.query_id,
        "user": request.user,
        "session": request.session,
    }
    return Candidates(
        ids=ids,
        groups=_group_numbers(names, spec, "groups[{}]" if where is None else f"{where}.group"),
        features=_finite(runtime.scaling(features), spec, None if where is None else f"{where}.features[{{}}]"),
        k=_checked_k(request.k, spec),
        context={key: value for key, value in context.items() if value is not None},
        asked="" if request.request_id is None else digest_of_candidates(ids, names, features, k=request.k),
    )


def metarank_candidates(request: MetarankRanking, runtime: Runtime, settings: Settings) -> Candidates:
    """The candidates of Metarank's form; fields become features by the policy's names."""
    spec = runtime.spec
    _check_number("items", len(request.items), settings)
    shared = {field.name: field.value for field in request.fields}
    rows, names = [], []
    for number, item in enumerate(request.items):
        own = {**shared, **{field.name: field.value for field in item.fields}}
        rows.append([_number(own, column, f"items[{number}].fields") for column in spec.columns])
        group = own.get(spec.group_field) if spec.group_field else None
        names.append(None if group is None else str(group))
    ids = [item.id for item in request.items]
    _check_ids(ids, "items[{}].id")
    where = "items[{}].fields" + (f" ({spec.group_field})" if spec.group_field else "")
    context = {"request_id": request.id, "user": request.user, "session": request.session}
    features = _from_rows(rows, spec)
    return Candidates(
        ids=ids,
        groups=_group_numbers(names, spec, where),
        features=_finite(runtime.scaling(features), spec, "items[{}].fields"),
        context={key: value for key, value in context.items() if value is not None},
        asked=digest_of_candidates(ids, names, features, whole=True),
        whole=True,
    )


def _number(values: dict[str, Any], column: Any, where: str) -> float:
    value = values.get(column.name, column.default)
    if isinstance(value, bool | int | float):
        return float(value)
    given = "nothing" if value is None else type(value).__name__
    raise invalid(
        where,
        f"{given} for {column.name!r}",
        "a number",
        "Send the field, or give the feature a default in the policy.",
    )


def _check_number(field: str, given: int, settings: Settings) -> None:
    if not 1 <= given <= settings.max_candidates:
        raise invalid(field, f"{given} candidates", f"from 1 to {settings.max_candidates}")


def _check_ids(ids: list[str], where: str) -> None:
    if len(set(ids)) == len(ids):
        return
    seen: set[str] = set()
    for number, name in enumerate(ids):
        if name in seen:
            raise invalid(where.format(number), f"{name[:80]!r} again", "each id once")
        seen.add(name)


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


def _from_rows(rows: list[list[float]], spec: PolicySpec) -> Floats32:
    width = spec.n_features
    for number, row in enumerate(rows):
        if len(row) != width:
            raise invalid(f"candidates[{number}].features", f"{len(row)} numbers", f"{width}, one per feature")
    with np.errstate(over="ignore"):  # what overflows float32 is refused as infinite
        return np.array(rows, dtype=np.float64).astype(np.float32)


def _from_base64(text: str, n: int, spec: PolicySpec) -> Floats32:
    expected = f"base64 of {n} x {spec.n_features} little-endian float32 numbers, row by row"
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise invalid("features", "text that is not base64", expected) from None
    if len(data) != 4 * n * spec.n_features:
        raise invalid("features", f"{len(data)} bytes", f"{4 * n * spec.n_features}: {expected}")
    return np.frombuffer(data, dtype="<f4").reshape(n, spec.n_features).astype(np.float32, copy=False)


def _finite(features: Floats32, spec: PolicySpec, where: str | None) -> Floats32:
    finite = np.isfinite(features)
    if finite.all():
        return features
    row, column = (int(index) for index in np.argwhere(~finite)[0])
    field = "features" if where is None else where.format(row, column)
    given = f"{features[row, column]} at row {row}, column {column} ({spec.feature_names[column]})"
    raise invalid(field, given, "finite float32 numbers, after scaling too")
