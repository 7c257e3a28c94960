"""What a run came to, and the files of its folder."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fairexp.errors import ArgumentError, RunExistsError
from fairexp.lab.simulation.meter import PROOF
from fairexp.measures import (
    ADDED_REGRET,
    FINAL_UF,
    HELDOUT_NDCG,
    MAX_UF,
    MEAN_ADDED_REGRET,
    MEAN_MISORDERED,
    MEAN_UF,
    MISORDERED,
    ONLINE_NDCG,
    QUALIFIED,
    QUALIFIED_SHARE,
    SPEED,
    UF,
    VALIDATION_NDCG,
    Measure,
    parse_measure,
)
from fairexp.reliability import Reliability
from fairexp.validation import as_path

SETTINGS, TRACE, RESULT = "settings.json", "trace.parquet", "result.json"
PROOFS = "proofs"
"""Under this name a result's summary has how many rounds have each `Ranking.proof`."""

RELIABILITY = "reliability"
"""Under this name a result's summary has `Reliability.summary`."""
_UF, _ADDED_REGRET, _MISORDERED, _QUALIFIED = UF.name, ADDED_REGRET.name, MISORDERED.name, QUALIFIED.name


@dataclass(slots=True)
class Result:
    """What a run came to: `result[MAX_UF]` is a measure of it, None where that does not apply or was not taken.

    Held-out NDCG is that at the last checkpoint: the last round of a whole run.
    """

    rounds: int
    measures: dict[Measure, float | None]
    interrupted: bool = False
    points: list[dict[str, Any]] = field(default_factory=list, repr=False)
    """The trace's rows at the checkpoints."""
    reliability: Reliability | None = field(default=None, repr=False)
    """How far the ranker's beliefs were borne out, by clicks and by grades, where it has calibrated ones."""
    notes: tuple[str, ...] = ()
    """What could be known before the first round and limits what these numbers mean, in sentences."""
    proofs: dict[str, int] = field(default_factory=dict)
    """How many rounds have each `Ranking.proof`; empty for rankers without a tolerance."""

    def __getitem__(self, measure: Measure | str) -> float | None:
        """A measure, or what it prints as; None where it does not apply or was not taken.

        Raises:
            ArgumentError: There is no such measure.
        """
        return self.measures.get(measure if isinstance(measure, Measure) else parse_measure(measure))

    def value(self, measure: Measure | str) -> float:
        """A measure that has a value in this run.

        Raises:
            ArgumentError: There is no such measure, or it has no value here.
        """
        found = self[measure]
        if found is None:
            known = ", ".join(each.name for each, value in self.measures.items() if value is not None)
            raise ArgumentError("measure", str(measure), f"one that this run has: {known}")
        return found

    def summary(self) -> dict[str, Any]:
        """All but the points, for `result.json`: measures by name."""
        measures = {measure.name: value for measure, value in self.measures.items()}
        told: dict[str, Any] = {
            "rounds": self.rounds,
            "interrupted": self.interrupted,
            "notes": list(self.notes),
            **measures,
        }
        if self.proofs:
            told[PROOFS] = self.proofs
        return told if self.reliability is None else {**told, RELIABILITY: self.reliability.summary()}

    def write(self, folder: str | Path) -> None:
        """Keep the summary in the folder of the run."""
        place = make_folder(as_path("folder", folder, "the folder of the run"))
        (place / RESULT).write_text(json.dumps(self.summary(), indent=2) + "\n")


def claim_folder(folder: Path, settings: Mapping[str, Any]) -> None:
    """Make the folder of a run and note the settings; a folder that holds a run is left alone."""
    if (folder / SETTINGS).exists():
        raise RunExistsError(f"{folder}: holds a run already; choose another folder or pass --overwrite")
    try:
        text = json.dumps(settings, indent=2) + "\n"
    except (TypeError, ValueError) as error:
        raise ArgumentError("settings", str(error), "values that JSON can hold, such as text and numbers") from error
    (make_folder(folder) / SETTINGS).write_text(text)


def make_folder(folder: Path) -> Path:
    """The folder, made if it is not there, or an `ArgumentError`."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ArgumentError("folder", str(error), "a folder, or a place where one can be made") from error
    return folder


@dataclass(slots=True)
class Tally:
    """Running sums over rows, from which the result is made."""

    last: dict[str, Any] = field(default_factory=dict)
    points: list[dict[str, Any]] = field(default_factory=list)
    n: int = 0
    added_regret: float = 0
    misordered: int = 0
    n_qualified: int = 0
    proofs: dict[str, int] = field(default_factory=dict)
    max_unfairness: float = -math.inf
    sum_unfairness: float = 0.0

    def add(self, row: dict[str, Any]) -> None:
        """Take in the row of one round."""
        self.last = row
        self.n += 1
        self.added_regret += row[_ADDED_REGRET]
        self.misordered += row[_MISORDERED]
        self.n_qualified += bool(row[_QUALIFIED])
        if row.get(PROOF) is not None:
            self.proofs[row[PROOF]] = self.proofs.get(row[PROOF], 0) + 1
        if _UF in row:
            self.max_unfairness = max(self.max_unfairness, row[_UF])
            self.sum_unfairness += row[_UF]

    def result(self, *, seconds: float, interrupted: bool, validation_ndcg: float | None) -> Result:
        """What the rounds so far came to."""
        n = max(self.n, 1)
        audited = _UF in self.last
        measures: dict[Measure, float | None] = {
            ONLINE_NDCG: float(self.last.get(ONLINE_NDCG.name, 0.0)),
            HELDOUT_NDCG: self.points[-1][HELDOUT_NDCG.name] if self.points else None,
            VALIDATION_NDCG: validation_ndcg,
            MAX_UF: self.max_unfairness if audited else None,
            MEAN_UF: self.sum_unfairness / n if audited else None,
            FINAL_UF: float(self.last[_UF]) if audited else None,
            QUALIFIED_SHARE: None if self.last.get(_QUALIFIED) is None else self.n_qualified / n,
            MEAN_ADDED_REGRET: self.added_regret / n,
            MEAN_MISORDERED: self.misordered / n,
            SPEED: self.n / max(seconds, 1e-9),
        }
        return Result(self.n, measures, interrupted, self.points, proofs=self.proofs)
