"""A small experiment that takes seconds, and the processes that play it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairexp.lab.experiments.plan.spec import Experiment
from fairexp.lab.experiments.plan.yaml_file import validated
from fairexp.lab.experiments.run.local import LocalProcesses
from fairexp.lab.simulation.settings import loaded_parts

ROOT = str(Path(__file__).resolve().parents[3])

SMALL: dict[str, Any] = {
    "name": "small",
    "data": {
        "pagerank": {"source": "mslr-pagerank", "n_queries": 12, "family": "mslr"},
        "inlinks": {"source": "mslr-inlink", "n_queries": 12, "family": "mslr"},
    },
    "users": ["perfect", "navigational"],
    "rankers": {
        "pairrank": {"ranker": "pairrank"},
        "fairexp-pairrank": {"ranker": "fairexp-pairrank", "parameters": {"tolerance": 0.1}},
        "fairco": {"ranker": "fairco"},
        "pdgd": {"ranker": "pdgd", "grid": {"learning_rate": [0.1, 0.01]}},
        "dbgd": {"ranker": "dbgd"},
    },
    "sweep": {"ranker": "fairexp-pairrank", "values": [0.05, 0.1, 5], "users": ["navigational"]},
    "rounds": 12,
    "seeds": 2,
    "exposure_sessions": 500,
    "n_points": 3,
}


def small(**changes: Any) -> Experiment:
    """The small experiment with some keys changed."""
    return validated({**SMALL, **changes})


def one_ranker(ranker: str, **changes: Any) -> Experiment:
    """An experiment of a few quick runs of one ranker."""
    values = {
        "data": {"pagerank": SMALL["data"]["pagerank"]},
        "users": ["perfect"],
        "rankers": {"own": {"ranker": ranker}},
        "sweep": None,
        "rounds": 5,
        "exposure": "reciprocal",
    }
    return small(**{**values, **changes})


def letor_set(folder: Path, n_folds: int, *, n_documents: int = 8) -> Path:
    """A LETOR set of few documents, the same wherever it lies."""
    for fold in range(1, n_folds + 1):
        for part in ("train", "vali", "test"):
            place = folder / f"Fold{fold}"
            place.mkdir(parents=True, exist_ok=True)
            lines = [
                f"{(d + q) % 3} qid:{part}{q} 1:{(d * 7 + q) % 5} 2:{d % 2} 3:{d}\n"
                for q in range(6)
                for d in range(n_documents)
            ]
            (place / f"{part}.txt").write_text("".join(lines))
    return folder


@pytest.fixture(scope="session")
def processes() -> LocalProcesses:
    return LocalProcesses(2)


@pytest.fixture(scope="module", autouse=True)
def few_held_out_queries(request: pytest.FixtureRequest) -> Iterator[None]:
    """Worlds with few queries to evaluate on; not where other machines make their own."""
    with pytest.MonkeyPatch.context() as patch:
        if not request.module.__name__.endswith("test_cluster"):
            patch.setattr("fairexp.lab.simulation.settings.WORLD_TEST", 15)
        loaded_parts.cache_clear()
        yield
        loaded_parts.cache_clear()
