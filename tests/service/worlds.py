"""A small world for the service's tests: a policy, candidates, and requests in every form."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairexp.service.engine.candidates import Candidates
from fairexp.service.engine.engine import Engine, Ranked
from fairexp.service.engine.events import GivenEvent
from fairexp.service.policies.spec import PolicySpec
from tests.waiting import SECONDS

GROUPS = ("small", "large")
SPEC = PolicySpec(
    features=["relevance", "freshness", "price"],
    groups={"small": 1.0, "large": 1.0},
    group_field="seller",
    length=4,
    tolerance=0.3,
    seed=7,
    feedback={"events": {"click": 1.0, "purchase": 2.0, "view": 0.0, "half": 0.5}},
)


def matrix(number: int, n: int = 8, d: int = 3) -> NDArray[np.float32]:
    """The features of query `number`."""
    return np.random.default_rng(number).random((n, d)).astype(np.float32)


def rank_body(number: int = 0, n: int = 8, **more: Any) -> dict[str, Any]:
    """A request with features as numbers."""
    rows = matrix(number, n).tolist()
    candidates = [{"id": f"d{i}", "group": GROUPS[i % 2], "features": row} for i, row in enumerate(rows)]
    return {"query_id": f"q{number}", "candidates": candidates, **more}


def base64_body(number: int = 0, n: int = 8, **more: Any) -> dict[str, Any]:
    """The same request with the matrix as base64."""
    return {
        "query_id": f"q{number}",
        "ids": [f"d{i}" for i in range(n)],
        "groups": [GROUPS[i % 2] for i in range(n)],
        "features": base64.b64encode(matrix(number, n).astype("<f4").tobytes()).decode(),
        **more,
    }


def candidates(number: int = 0, n: int = 8, k: int | None = None, **context: Any) -> Candidates:
    """The same, as the engine takes it."""
    return Candidates([f"d{i}" for i in range(n)], np.arange(n) % 2, matrix(number, n), k, context)


def rank(engine: Engine, number: int = 0, policy: str = "shop", **more: Any) -> Ranked:
    """A ranking that is on disk."""
    ranked = engine.rank(policy, lambda runtime: candidates(number, **more))
    ranked.kept.result(SECONDS)
    return ranked


def play(engine: Engine, rounds: int, *, start: int = 0, policy: str = "shop") -> list[str]:
    """Rank and click for a while, some feedback late, some in two parts; the ranking ids."""
    rng = np.random.default_rng(start)
    ids = []
    for number in range(start, start + rounds):
        ids.append(rank(engine, number, policy, k=None if number % 3 else 2).id)
        which = ids[int(rng.integers(len(ids)))]
        positions = sorted({int(rng.integers(2)) for _ in range(2)})
        for position in positions:
            engine.learn(which, [GivenEvent(position=position)]).kept.result(SECONDS)
    return ids
