"""From the bytes of a body to plain checked values, or to an error that names the field.

Each function does the same here as in the process that reads large bodies, so nothing heavy is imported, and what they
return is small: names, and one matrix.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

import msgspec
import numpy as np
import orjson
from numpy.typing import NDArray

from fairexp.mistakes import found_by_msgspec
from fairexp.service.bodies.forms import (
    FeedbackGiven,
    FeedbackRequest,
    MetarankInteraction,
    MetarankMetadata,
    MetarankRanking,
    RankRequest,
)
from fairexp.service.problems import ServiceError, invalid, misfit

Form = TypeVar("Form")
Group = str | dict[str, str] | None
_DECODERS: dict[Any, msgspec.json.Decoder[Any]] = {}
MOST_KEYS = 100
"""Most keys of an object in a policy, however many groups are allowed."""

MOST_DEEP = 6
"""Most levels of a policy; there are three."""


@dataclass(frozen=True, slots=True)
class Special:
    """What few requests say: positions (from 1) of candidates by id, the segment, and what attention is worth."""

    pinned: dict[str, int] = field(default_factory=dict)
    segment: str | None = None
    weight: float = 1.0


PLAIN = Special()


@dataclass(frozen=True, slots=True)
class Asked:
    """A rank request in any form: groups (n) by name, features (n, d) before scaling, and fields as JSON if asked for.

    A group is a name for each attribute where the policy has several.

    Where it has an id, `digest` says in short what was asked for, whatever the policy is by now; and what keeps it from
    being ranked is put off as `problem`: it may have been ranked before, by an earlier version of the policy.
    """

    form: Literal["candidates", "ids", "items"]
    ids: list[str]
    groups: Sequence[Group]
    features: NDArray[np.float32]
    k: int | None = None
    context: dict[str, str] = field(default_factory=dict)
    fields: list[bytes] | None = None
    digest: str = ""
    problem: tuple[str, str, int, str | None] | None = None
    special: Special = PLAIN


@dataclass(frozen=True, slots=True)
class MetarankEvent:
    """What matters here of an event in Metarank's form."""

    kind: Literal["interaction", "ranking", "metadata"]
    ranking: str | None = None
    id: str | None = None
    type: str = ""
    item: str = ""


def decoded(form: type[Form], body: bytes | msgspec.Raw, where: str = "") -> Form:
    """The body in this form, or a 422 about the first thing wrong; `where` begins the field's path."""
    decoder = _DECODERS.get(form)
    if decoder is None:
        decoder = _DECODERS.setdefault(form, msgspec.json.Decoder(form))
    try:
        return decoder.decode(body)  # type: ignore[no-any-return]
    except msgspec.ValidationError as error:
        raise misfit(found_by_msgspec(str(error), where)) from None
    except RecursionError:
        raise invalid(where.rstrip(".") or "body", "values nested too deeply", "JSON as documented") from None
    except ValueError as error:  # also text that is not UTF-8
        raise _not_json(error, where) from None


def _not_json(error: ValueError, where: str = "") -> ServiceError:
    found = where.rstrip(".") or "body"
    return ServiceError("invalid", f"{found}: expected JSON, got something else ({str(error)[:120]})", field=found)


def read_ranking(body: bytes, *, n_features: int, max_candidates: int) -> Asked:
    """A rank request in either of our own forms."""
    request = decoded(RankRequest, body)
    asked = _read(request, n_features, max_candidates)
    special = Special(request.pinned, request.segment, 1.0 if request.weight is None else request.weight)
    if special == PLAIN:
        return asked
    digest = asked.digest and _digest(asked.digest.encode(), msgspec.json.encode(special))
    return replace(asked, special=special, digest=digest)


def _read(request: RankRequest, n_features: int, max_candidates: int) -> Asked:
    if (request.candidates is None) == (request.ids is None and request.features is None):
        raise invalid("candidates", "both forms or none", "either candidates, or ids, groups and features")
    context = {
        "query_id": request.query_id,
        "user": request.user,
        "session": request.session,
        "request_id": request.request_id,
    }
    known = {key: value for key, value in context.items() if value is not None}
    if request.candidates is None:
        return _by_columns(request, known, n_features, max_candidates)
    if request.groups is not None:
        raise invalid("groups", "a list besides candidates", "each candidate's own group")
    _check_number("candidates", len(request.candidates), max_candidates)
    ids = [candidate.id for candidate in request.candidates]
    _check_ids(ids, "candidates[{}].id")
    rows, problem = [candidate.features for candidate in request.candidates], None
    for number, row in enumerate(rows):
        if len(row) != n_features:
            problem = invalid(f"candidates[{number}].features", f"{len(row)} numbers", f"{n_features}, one per feature")
            if request.request_id is None or len(set(map(len, rows))) > 1:
                raise problem
            break
    groups = [candidate.group for candidate in request.candidates]
    return _asked("candidates", ids, groups, _float32(rows), request.k, known, problem)


def _by_columns(request: RankRequest, context: dict[str, str], n_features: int, max_candidates: int) -> Asked:
    if request.ids is None or request.features is None:
        missing = "ids" if request.ids is None else "features"
        raise invalid(missing, "nothing", "ids and features together")
    n = len(request.ids)
    _check_number("ids", n, max_candidates)
    _check_ids(request.ids, "ids[{}]")
    groups = _by_candidate(request.groups, n)
    features, problem = _from_base64(request.features, n, n_features)
    if problem is not None and (request.request_id is None or features is None):
        raise problem
    assert features is not None
    return _asked("ids", request.ids, groups, features, request.k, context, problem)


def _by_candidate(groups: list[str] | dict[str, list[str]] | None, n: int) -> Sequence[Group]:
    """The group of each candidate: a name, or a name for each attribute."""
    if groups is None:
        return [None] * n
    for attribute, names in groups.items() if isinstance(groups, dict) else (("", groups),):
        if len(names) != n:
            raise invalid(f"groups.{attribute}".rstrip("."), f"{len(names)} groups", f"{n}, one per id")
    if isinstance(groups, list):
        return groups
    return [dict(zip(groups, names, strict=True)) for names in zip(*groups.values(), strict=True)] or [None] * n


def _asked(
    form: Literal["candidates", "ids"],
    ids: list[str],
    groups: Sequence[Group],
    features: NDArray[np.float32],
    k: int | None,
    context: dict[str, str],
    problem: ServiceError | None,
) -> Asked:
    digest = ""
    if "request_id" in context:
        digest = _digest(msgspec.json.encode([ids, groups, k, features.shape]), features.tobytes())
    return Asked(form, ids, groups, features, k, context, digest=digest, problem=_plain(problem))


def _digest(*parts: bytes) -> str:
    digest = hashlib.blake2b(digest_size=8, person=b"fairexp-request")
    for part in parts:
        digest.update(part)
    return digest.hexdigest()


def _plain(problem: ServiceError | None) -> tuple[str, str, int, str | None] | None:
    return None if problem is None else (problem.code, str(problem), problem.status, problem.field)


def read_metarank(
    body: bytes,
    *,
    columns: tuple[tuple[str, float | None], ...],
    group_field: str | None,
    max_candidates: int,
    max_fields: int,
    explain: bool,
) -> Asked:
    """Metarank's form; fields become features by the policy's names, or their defaults."""
    request = decoded(MetarankRanking, body)
    _check_number("items", len(request.items), max_candidates)
    ids = [item.id for item in request.items]
    _check_ids(ids, "items[{}].id")
    _check_fields("fields", request.fields, max_fields)
    for number, item in enumerate(request.items):
        _check_fields(f"items[{number}].fields", item.fields, max_fields)
    problem: ServiceError | None = None
    try:
        rows, groups = _by_name(request, columns, group_field)
    except ServiceError as error:
        rows, groups, problem = [[]] * len(ids), [None] * len(ids), error
    context = {"request_id": request.id, "user": request.user, "session": request.session}
    return Asked(
        "items",
        ids,
        groups,
        _float32(rows),
        context={key: value for key, value in context.items() if value is not None},
        fields=[msgspec.json.encode(item.fields) for item in request.items] if explain else None,
        digest=_digest(msgspec.json.encode([request.items, request.fields])),
        problem=_plain(problem),
    )


def _by_name(
    request: MetarankRanking, columns: tuple[tuple[str, float | None], ...], group_field: str | None
) -> tuple[list[list[float]], list[str | None]]:
    """The features and the group of each item, by the names of its fields, or of the request's."""
    shared = {each.name: each.value for each in request.fields}
    rows: list[list[float]] = []
    groups: list[str | None] = []
    for number, item in enumerate(request.items):
        where = f"items[{number}].fields"
        own = {each.name: each.value for each in item.fields}
        rows.append([_number(own.get(name, shared.get(name, default)), name, where) for name, default in columns])
        group = own.get(group_field, shared.get(group_field)) if group_field else None
        groups.append(None if group is None else str(group))
    return rows, groups


def read_feedback(body: bytes, *, max_batch: int, max_events: int) -> tuple[bool, list[FeedbackGiven]]:
    """Whether it is a batch, and what is given for each ranking."""
    request = decoded(FeedbackRequest, body)
    single = request.ranking_id is not None and request.events is not None
    if single == (request.batch is not None) or (request.ranking_id is None) != (request.events is None):
        raise invalid("body", "another mix", "either ranking_id and events, or batch")
    if request.ranking_id is not None and request.events is not None:
        if len(request.events) > max_events:
            raise invalid("events", f"{len(request.events)} events", f"at most {max_events}")
        return False, [FeedbackGiven(request.ranking_id, request.events, request.final)]
    batch = request.batch or []
    if len(batch) > max_batch:
        raise invalid("batch", f"{len(batch)} rankings", f"at most {max_batch}")
    n_events = sum(len(each.events) for each in batch)
    if n_events > max_events:
        raise invalid("batch", f"{n_events} events in all", f"at most {max_events}")
    return True, batch


def read_metarank_events(body: bytes, *, max_events: int) -> list[MetarankEvent]:
    """Metarank's feedback: one event, a list of them, or one per line."""
    if body.lstrip(b" \t\r\n").startswith(b"["):
        found: list[Any] = decoded(list[msgspec.Raw], body)
    else:
        lines = [line for line in body.split(b"\n") if line.strip()]
        found = lines if len(lines) > 1 and not _is_json(body) else [body]
    if len(found) > max_events:
        raise invalid("body", f"{len(found)} events", f"at most {max_events}")
    return [_event(each, f"[{number}]." if len(found) > 1 else "") for number, each in enumerate(found)]


def _is_json(body: bytes) -> bool:
    try:
        msgspec.json.decode(body, type=msgspec.Raw)
    except (ValueError, RecursionError):
        return False
    return True


class _Kind(msgspec.Struct):
    event: Any = None


def _event(given: bytes | msgspec.Raw, where: str) -> MetarankEvent:
    try:
        kind = msgspec.json.decode(given, type=_Kind).event
    except (ValueError, RecursionError):
        kind = None
    if kind == "interaction":
        event = decoded(MetarankInteraction, given, where)
        return MetarankEvent("interaction", event.ranking, event.id, event.type, event.item)
    if kind == "ranking":
        return MetarankEvent("ranking", decoded(MetarankRanking, given, where).id)
    if kind in ("item", "user"):
        decoded(MetarankMetadata, given, where)
        return MetarankEvent("metadata")
    told = "nothing" if kind is None else repr(kind)[:80]
    raise invalid(f"{where}event", told, "interaction, ranking, item or user")


def read_policy(body: bytes, *, known: tuple[str, ...], most_values: int, most_keys: int) -> Any:
    """A policy as plain data that is small enough to be looked at closely."""
    try:
        given = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise _not_json(error) from None
    if isinstance(given, dict):
        for name in given:
            if name not in known:
                raise invalid(name[:80], "a field that is not known", "one of " + ", ".join(known))
    waiting = [("", 0, given)]
    while waiting:
        path, depth, value = waiting.pop()
        if depth > MOST_DEEP:
            raise invalid(path[:80], "values nested too deeply", "a policy as documented")
        if isinstance(value, list):
            if len(value) > most_values:
                raise invalid(path or "body", f"{len(value)} values", f"at most {most_values}")
            inside = [(f"{path}[{n}]", each) for n, each in enumerate(value) if isinstance(each, list | dict)]
        elif isinstance(value, dict):
            if len(value) > most_keys:
                raise invalid(path or "body", f"{len(value)} names", f"at most {most_keys}")
            held = [(key[:80], each) for key, each in value.items() if isinstance(each, list | dict)]
            inside = [(f"{path}.{key}" if path else key, each) for key, each in held]
        else:
            inside = []
        waiting += [(where, depth + 1, each) for where, each in inside]
    return given


def _check_number(name: str, given: int, most: int) -> None:
    if not 1 <= given <= most:
        raise invalid(name, f"{given} candidates", f"from 1 to {most}")


def _check_ids(ids: list[str], where: str) -> None:
    if len(set(ids)) == len(ids):
        return
    seen: set[str] = set()
    for number, name in enumerate(ids):
        if name in seen:
            raise invalid(where.format(number), f"{name[:80]!r} again", "each id once")
        seen.add(name)


def _check_fields(where: str, fields: Sequence[object], most: int) -> None:
    if len(fields) > most:
        raise invalid(where, f"{len(fields)} fields", f"at most {most}")


def _number(value: object, name: str, where: str) -> float:
    if isinstance(value, bool | int | float):
        return float(value)
    given = "nothing" if value is None else type(value).__name__
    raise invalid(
        where, f"{given} for {name!r}", "a number", "Send the field, or give the feature a default in the policy."
    )


def _float32(rows: list[list[float]]) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):  # what overflows float32 is refused as infinite
        return np.array(rows, dtype=np.float64).astype(np.float32)


def _from_base64(text: str, n: int, n_features: int) -> tuple[NDArray[np.float32] | None, ServiceError | None]:
    """The matrix, and what is wrong with it; a matrix of another width is one, too."""
    expected = f"base64 of {n} x {n_features} little-endian float32 numbers, row by row"
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None, invalid("features", "text that is not base64", expected)
    problem = None
    if len(data) != 4 * n * n_features:
        problem = invalid("features", f"{len(data)} bytes", f"{4 * n * n_features}: {expected}")
        if len(data) % (4 * n):
            return None, problem
    return np.frombuffer(data, dtype="<f4").reshape(n, -1).astype(np.float32, copy=False), problem
