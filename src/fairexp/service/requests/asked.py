"""A rank request as plain values, whatever form it came in."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fairexp.service.problems import ServiceError, invalid

Group = str | dict[str, str] | None
"""A name, or one for each attribute where the policy has several."""


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

    `whole` says that all candidates shall come back, also those that are not shown. `after` is a ranking to continue.

    Where it has an id, `digest` says in short what was asked for, whatever the policy is by now; and what keeps it from
    being ranked is put off as `problem`: it may have been ranked before, by an earlier version of the policy. In the
    form "items" features that the request does not bring are NaN.
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
    whole: bool = False
    after: str | None = None
    special: Special = PLAIN


def digest_of(*parts: bytes) -> str:
    """What a request asks for, in short."""
    digest = hashlib.blake2b(digest_size=8, person=b"fairexp-request")
    for part in parts:
        digest.update(part)
    return digest.hexdigest()


def plain_problem(problem: ServiceError | None) -> tuple[str, str, int, str | None] | None:
    """A problem as plain values, which can be told later, or by another process."""
    return None if problem is None else (problem.code, str(problem), problem.status, problem.field)


def check_number(name: str, given: int, most: int) -> None:
    """A 422 unless there are candidates, and not too many."""
    if not 1 <= given <= most:
        raise invalid(name, f"{given} candidates", f"from 1 to {most}")


def check_ids(ids: list[str], where: str) -> None:
    """A 422 if an id is there twice."""
    if len(set(ids)) == len(ids):
        return
    seen: set[str] = set()
    for number, name in enumerate(ids):
        if name in seen:
            raise invalid(where.format(number), f"{name[:80]!r} again", "each id once")
        seen.add(name)


def float32(rows: list[list[float]]) -> NDArray[np.float32]:
    """Rows of numbers as a matrix."""
    with np.errstate(over="ignore"):  # what overflows float32 is refused as infinite
        return np.array(rows, dtype=np.float64).astype(np.float32)
