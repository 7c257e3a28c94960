"""The folder of a run, read back: its settings, its data, its trace, and the ranker as it was at the end."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairexp.errors import ArgumentError, DataError
from fairexp.lab.data import Dataset
from fairexp.lab.simulation.recorder import STATE, Recording
from fairexp.lab.simulation.result import RESULT, SETTINGS, TRACE
from fairexp.lab.simulation.run import ranker_of
from fairexp.lab.simulation.settings import DataSettings, Parts, RunSettings, loaded_parts
from fairexp.ranker import Ranker

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class KeptRun:
    """A run that `fairexp simulate --out` has kept in `folder`."""

    folder: Path

    @cached_property
    def settings(self) -> RunSettings:
        """What it was played with."""
        try:
            kept = json.loads((self.folder / SETTINGS).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise DataError(self.folder, f"is not the folder of a run ({error})") from error
        data, recording = DataSettings(**_tuples(kept.pop("data"))), Recording(**_tuples(kept.pop("recording", {})))
        return RunSettings(**_tuples(kept), data=data, recording=recording)

    @cached_property
    def parts(self) -> Parts:
        """The data that it served from, and was evaluated on."""
        return loaded_parts(self.settings.data, self.settings.validate)

    @property
    def train(self) -> Dataset:
        return self.parts[0]

    @property
    def measures(self) -> dict[str, Any]:
        """What it came to, by name."""
        found: dict[str, Any] = json.loads((self.folder / RESULT).read_text(encoding="utf-8"))
        return found

    def trace(self, *columns: str) -> pa.Table:
        """Columns of its trace; one that was not recorded is an error that says how to."""
        from pyarrow import parquet

        try:
            there = parquet.read_schema(self.folder / TRACE).names
        except OSError as error:
            raise DataError(self.folder, f"has no trace ({error})") from error
        missing = [column for column in columns if column not in there]
        if missing:
            wanted = ", ".join(missing)
            raise ArgumentError(
                "run", f"{self.folder} without {wanted}", f"a run of `fairexp simulate --record {wanted}`"
            )
        return parquet.read_table(self.folder / TRACE, columns=list(columns))

    def ranker(self) -> Ranker:
        """The ranker as it was after the last round."""
        path = self.folder / STATE
        if not path.is_file():
            raise ArgumentError("run", f"{self.folder} without {STATE}", "a run of `fairexp simulate --record ranker`")
        with np.load(path, allow_pickle=False) as arrays:
            return ranker_of(self.settings, self.train).restore(dict(arrays))


def _tuples(kept: dict[str, Any]) -> dict[str, Any]:
    """Values as settings have them, where JSON has lists."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in kept.items()}
