"""From the bytes of a body to plain checked values, or to an error that names the field.

Each function does the same here as in the process that reads large bodies, so nothing heavy is imported, and what they
return is small: names, and one matrix.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, TypeVar

import msgspec
import numpy as np
import orjson
from numpy.typing import NDArray

from fairexp.service.policies.columns import Columns
from fairexp.service.problems import ServiceError, invalid, misfit
from fairexp.service.requests.asked import (
    PLAIN,
    Asked,
    Group,
    Special,
    check_ids,
    check_number,
    digest_of,
    float32,
    plain_problem,
)
from fairexp.service.requests.fields import by_name, completed
from fairexp.service.requests.forms import FeedbackGiven, FeedbackRequest, ItemGiven, ItemsRequest, RankRequest
from fairexp.validation_messages import found_by_msgspec

Form = TypeVar("Form")
_DECODERS: dict[Any, msgspec.json.Decoder[Any]] = {}
MOST_KEYS = 100
"""Most keys of an object in a policy, however many groups are allowed."""

MOST_DEEP = 6
"""Most levels of a policy; there are three."""


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


def read_ranking(body: bytes, *, columns: Columns, max_candidates: int) -> Asked:
    """A rank request in any of our own forms."""
    request = decoded(RankRequest, body)
    asked = _read(request, columns, max_candidates)
    special = Special(request.pinned, request.segment, 1.0 if request.weight is None else request.weight)
    if special == PLAIN:
        return asked
    digest = asked.digest and digest_of(asked.digest.encode(), msgspec.json.encode(special))
    return replace(asked, special=special, digest=digest)


def _read(request: RankRequest, columns: Columns, max_candidates: int) -> Asked:
    n_features = len(columns.names)
    forms = (request.candidates, request.items, request.ids if request.ids is not None else request.features)
    if sum(form is not None for form in forms) != 1:
        raise invalid("candidates", "several forms or none", "either candidates, or items, or ids, groups and features")
    context = {
        "query_id": request.query_id,
        "user": request.user,
        "session": request.session,
        "request_id": request.request_id,
    }
    known = {key: value for key, value in context.items() if value is not None}
    if request.items is not None:
        return _by_fields(request, request.items, known, columns, max_candidates)
    if request.candidates is None:
        if request.ids is not None and request.features is None and columns.stored:
            items = [ItemGiven(name) for name in request.ids]
            return _by_fields(request, items, known, columns, max_candidates)
        return _by_columns(request, known, n_features, max_candidates)
    if request.groups is not None:
        raise invalid("groups", "a list besides candidates", "each candidate's own group")
    check_number("candidates", len(request.candidates), max_candidates)
    ids = [candidate.id for candidate in request.candidates]
    check_ids(ids, "candidates[{}].id")
    rows, problem = [candidate.features for candidate in request.candidates], None
    for number, row in enumerate(rows):
        if len(row) != n_features:
            problem = invalid(f"candidates[{number}].features", f"{len(row)} numbers", f"{n_features}, one per feature")
            if request.request_id is None or len(set(map(len, rows))) > 1:
                raise problem
            break
    groups = [candidate.group for candidate in request.candidates]
    return _asked("candidates", ids, groups, float32(rows), request, known, problem)


def _by_fields(
    request: RankRequest, items: list[ItemGiven], context: dict[str, str], columns: Columns, max_candidates: int
) -> Asked:
    """Items with the fields that the request brings; what it does not is looked up later."""
    check_number("items", len(items), max_candidates)
    ids = [item.id for item in items]
    check_ids(ids, "items[{}].id")
    own_groups: Sequence[Group] = [item.group for item in items]
    given = own_groups if request.groups is None else _by_candidate(request.groups, len(ids))
    rows, groups, problem = by_name([item.fields for item in items], request.fields, columns)
    named = [completed(own, found) for own, found in zip(given, groups, strict=True)]
    digest = ""
    if "request_id" in context:
        digest = digest_of(msgspec.json.encode([items, request.groups, request.fields, request.k, request.after]))
    return Asked(
        "items",
        ids,
        named,
        rows,
        request.k,
        context,
        digest=digest,
        problem=plain_problem(problem),
        after=request.after,
    )


def _by_columns(request: RankRequest, context: dict[str, str], n_features: int, max_candidates: int) -> Asked:
    if request.ids is None or request.features is None:
        missing = "ids" if request.ids is None else "features"
        raise invalid(missing, "nothing", "ids and features together")
    n = len(request.ids)
    check_number("ids", n, max_candidates)
    check_ids(request.ids, "ids[{}]")
    groups = _by_candidate(request.groups, n)
    features, problem = _from_base64(request.features, n, n_features)
    if problem is not None and (request.request_id is None or features is None):
        raise problem
    assert features is not None
    return _asked("ids", request.ids, groups, features, request, context, problem)


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
    request: RankRequest,
    context: dict[str, str],
    problem: ServiceError | None,
) -> Asked:
    digest, after = "", request.after
    if "request_id" in context:
        told = msgspec.json.encode([ids, groups, request.k, features.shape, after])
        digest = digest_of(told, features.tobytes())
    problem_told = plain_problem(problem)
    return Asked(form, ids, groups, features, request.k, context, digest=digest, problem=problem_told, after=after)


def read_feedback(body: bytes, *, max_batch: int, max_events: int) -> tuple[bool, list[FeedbackGiven]]:
    """Whether it is a batch, and what is given for each ranking."""
    request = decoded(FeedbackRequest, body)
    single = request.ranking_id is not None and request.events is not None
    if single == (request.batch is not None) or (request.ranking_id is None) != (request.events is None):
        raise invalid("body", "another mix", "either ranking_id and events, or batch")
    if request.ranking_id is not None and request.events is not None:
        if len(request.events) > max_events:
            raise invalid("events", f"{len(request.events)} events", f"at most {max_events}")
        return False, [FeedbackGiven(request.ranking_id, request.events, request.final, request.seen)]
    batch = request.batch or []
    if len(batch) > max_batch:
        raise invalid("batch", f"{len(batch)} rankings", f"at most {max_batch}")
    n_events = sum(len(each.events) for each in batch)
    if n_events > max_events:
        raise invalid("batch", f"{n_events} events in all", f"at most {max_events}")
    return True, batch


def read_items(body: bytes, *, max_items: int) -> ItemsRequest:
    """Fields of items and users."""
    request = decoded(ItemsRequest, body)
    for name, given in (("items", request.items), ("users", request.users)):
        if len(given) > max_items:
            raise invalid(name, f"{len(given)} of them", f"at most {max_items}")
    return request


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
