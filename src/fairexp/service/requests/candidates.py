"""From what a request asks for to candidates that a policy can rank, or to an error that names the field."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairexp.arrays import Ints
from fairexp.rankers import FAIR
from fairexp.service.engine.candidates import Candidates
from fairexp.service.engine.runtime import Runtime
from fairexp.service.log.considered import Floats32
from fairexp.service.policies.columns import Columns
from fairexp.service.policies.spec import PolicySpec
from fairexp.service.problems import AboveLimitError, ServiceError, invalid
from fairexp.service.requests.asked import Asked, Group


def candidates_of(asked: Asked, runtime: Runtime, read_for: Columns) -> Candidates:
    """The candidates, checked against the version of the policy that is in force, and scaled."""
    spec = runtime.spec
    if runtime.columns != read_for:
        raise ServiceError(
            "policy_changed", "policy: changed while the request was read; try again", status=503, retry_after=1.0
        )
    if asked.problem is not None:
        code, message, status, field = asked.problem
        raise ServiceError(code, message, status=status, field=field)
    if runtime.needs_query_id:
        _check_query(asked, runtime)
    if asked.special.weight > spec.max_weight:
        raise AboveLimitError("weight", asked.special.weight, most=spec.max_weight, setting="max_weight")
    groups, features = _paths(asked, spec)
    return Candidates(
        ids=asked.ids,
        groups=_group_numbers(asked.groups, spec, groups),
        labels=_labels(asked.groups, spec, groups),
        features=_finite(runtime.scaling(runtime.counted(asked.ids, asked.features)), spec, features),
        k=_checked_k(asked.k, spec),
        pinned=_pinned(asked, runtime),
        segment=_segment(asked, spec),
        weight=asked.special.weight,
        context=asked.context,
        asked=asked.digest,
        whole=asked.whole,
    )


def _check_query(asked: Asked, runtime: Runtime) -> None:
    """Refuse what a ranker that learns of each query by itself cannot know again, or cannot hold."""
    ranker, most = runtime.spec.ranker, runtime.parameters.get("max_documents", len(asked.ids))
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
    name = _plain(spec.group_field or "")
    return "items[{}].fields" + (f" ({name})" if name else ""), "items[{}].fields"


def _checked_k(k: int | None, spec: PolicySpec) -> int | None:
    if k is not None and k > spec.length:
        raise invalid("k", k, f"at most {spec.length}, the policy's length")
    return k


def _pinned(asked: Asked, runtime: Runtime) -> dict[int, int]:
    """The candidate that must stand at each of some positions, both counted from 0."""
    given, spec = asked.special.pinned, runtime.spec
    if not given:
        return {}
    most, places = min(asked.k or spec.length, len(asked.ids)), {name: place for place, name in enumerate(asked.ids)}
    found: dict[int, int] = {}
    for name, position in given.items():
        if name not in places:
            raise invalid("pinned", repr(name[:80]), "ids of candidates")
        if position > most or position - 1 in found:
            told = f"{position} again" if position - 1 in found else str(position)
            raise invalid(f"pinned.{name[:80]}", told, f"positions from 1 to {most}, each once")
        found[position - 1] = places[name]
    if not runtime.ranker.keeps_pins:
        raise invalid("pinned", f"a policy with {spec.ranker}", f"one with a ranker {FAIR}HOST, which minds them")
    return found


def _segment(asked: Asked, spec: PolicySpec) -> str | None:
    """The segment, where a constraint has an account for each."""
    if not any(each.per == "segment" for each in spec.constraints):
        return None
    if asked.special.segment is None:
        raise invalid("segment", "nothing", "the segment that the request belongs to, which a constraint goes by")
    return asked.special.segment


def _group_numbers(given: Sequence[Group], spec: PolicySpec, where: str) -> Ints | None:
    if not spec.groups:
        return None
    source = spec.source_of_groups
    named = [each if isinstance(each, dict) else source.label_of(each, spec.groups) for each in given]
    return _numbers(named, spec.group_names, where)


def _labels(given: Sequence[Group], spec: PolicySpec, where: str) -> dict[str, Ints]:
    """The number (n,) of each candidate's label by attribute, where the policy has several constraints."""
    found, sources = {}, spec.label_sources
    for attribute, labels in spec.attributes.items():
        own = [each.get(attribute) if isinstance(each, dict) else None for each in given]
        if attribute in sources:
            own = [sources[attribute].label_of(each, labels) for each in own]
        name = _plain(attribute)
        place = f"groups.{name}[{{}}]" if where == "groups[{}]" else f"{where}.{name}"
        found[attribute] = _numbers(own, labels, place)
    return found


def _numbers(given: Sequence[Group], names: list[str], where: str) -> Ints:
    known = {name: number for number, name in enumerate(names)}
    try:
        return np.array([known[name] for name in given], dtype=np.int64)  # type: ignore[index]
    except (KeyError, TypeError):
        number, wrong = next((n, each) for n, each in enumerate(given) if isinstance(each, dict) or each not in known)
        told = "nothing" if wrong is None else repr(wrong)[:80]
        raise invalid(where.format(number), told, f"one of {', '.join(known)}") from None


def _plain(text: str) -> str:
    """A text that `format` leaves as it is."""
    return text.replace("{", "{{").replace("}", "}}")


def _finite(features: Floats32, spec: PolicySpec, where: str | None) -> Floats32:
    finite = np.isfinite(features)
    if finite.all():
        return features
    row, column = (int(index) for index in np.argwhere(~finite)[0])
    field = "features" if where is None else where.format(row, column)
    given = f"{features[row, column]} at row {row}, feature {spec.feature_names[column]!r}"
    raise invalid(field, given, "finite float32 numbers, after scaling too")
