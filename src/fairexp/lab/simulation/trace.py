"""The Parquet trace that keeps a run's rows."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from fairexp.lab.simulation.meter import GAP_BOUND, PROOF
from fairexp.lab.simulation.recorder import column_kinds
from fairexp.measures import HELDOUT_NDCG, MEAN_ONLINE_NDCG, NDCG, QUALIFIED


class Trace:
    """Rows written to a Parquet file in chunks, so that a long run holds little in memory."""

    def __init__(self, path: Path, *, chunk: int = 10_000) -> None:
        self.path = path
        self._chunk = chunk
        self._columns: dict[str, list[Any]] = {}
        self._n_rows = 0
        self._writer: Any = None

    def write(self, row: dict[str, Any]) -> None:
        """Keep one row; the first decides the columns."""
        if self._writer is None:
            self._open(row)
        for name, column in self._columns.items():
            column.append(row.get(name))
        self._n_rows += 1
        if self._n_rows >= self._chunk:
            self._flush()

    def _open(self, row: dict[str, Any]) -> None:
        from pyarrow import parquet

        self._writer = parquet.ParquetWriter(self.path, _schema(row), compression="zstd")
        self._columns = {name: [] for name in row}

    def _flush(self) -> None:
        import pyarrow as pa

        if self._n_rows:
            self._writer.write_table(pa.table(self._columns, schema=self._writer.schema))
        self._columns = {name: [] for name in self._columns}
        self._n_rows = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._flush()
        if self._writer is not None:
            self._writer.close()


def _schema(row: dict[str, Any]) -> Any:
    import pyarrow as pa

    nullable = (NDCG, MEAN_ONLINE_NDCG, HELDOUT_NDCG)  # None in some rows, the first perhaps
    kinds = {
        QUALIFIED.name: pa.bool_(),
        PROOF: pa.string(),
        GAP_BOUND: pa.float64(),
        **{measure.name: pa.float64() for measure in nullable},
    }
    kinds.update(column_kinds())
    for name, value in row.items():
        if name not in kinds:
            kinds[name] = pa.int64() if isinstance(value, int | np.integer) else pa.float64()
    return pa.schema([(name, kinds[name]) for name in row])
