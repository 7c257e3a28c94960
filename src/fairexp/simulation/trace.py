"""What a simulated run is measured by, and the Parquet trace that keeps it."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from fairexp.arrays import Floats
from fairexp.data import Dataset
from fairexp.fairness.ledger import Ledger
from fairexp.kernels.measures.quality import shown_quality
from fairexp.metrics import GAMMA, dataset_ndcg, misordered_pairs
from fairexp.metrics.grades import MAX_GRADE
from fairexp.metrics.ndcg import discounts
from fairexp.rankers.base import Ranker
from fairexp.simulation.loop import Round

_GAIN = np.exp2(np.arange(MAX_GRADE + 1)) - 1.0


class Meter:
    """Turns rounds into rows, the same way for every ranker: fairness is audited from outside.

    `exposure` (k,) by position and `shares` (G,) define unfairness; `shares` None leaves it out.
    """

    def __init__(self, *, exposure: Floats, shares: Floats | None, k: int = 10) -> None:
        self.exposure = exposure
        self.ledger = None if shares is None else Ledger(shares)
        self.k = k
        self._discount = discounts(k)
        self.online_ndcg = 0.0
        self._weight = 1.0

    def row(self, played: Round) -> dict[str, Any]:
        """The measurements of one round."""
        ranking = played.ranking
        quality, misordered = shown_quality(ranking.shown, played.relevance, _GAIN, self._discount)
        if misordered < 0:
            misordered = misordered_pairs(ranking.shown, played.relevance)  # says what is wrong
        self.online_ndcg += self._weight * quality
        self._weight *= GAMMA
        row: dict[str, Any] = {
            "round": played.number,
            "query": played.query,
            "ndcg": quality,
            "online_ndcg": self.online_ndcg,
            "clicks": int(np.count_nonzero(played.clicks)),
            "misordered_pairs": misordered,
            "added_regret": ranking.added_regret,
            "qualified": ranking.qualified,
            "heldout_ndcg": None,
        }
        if self.ledger is not None and ranking.groups is not None:
            self.ledger.charge(ranking.groups, self.exposure[: len(ranking)])
            row["unfairness"] = self.ledger.largest_gap
            row.update({f"exposure_{g}": amount for g, amount in enumerate(self.ledger.exposure.tolist())})
        return row


def heldout_ndcg(ranker: Ranker, dataset: Dataset, *, k: int = 10) -> float | None:
    """Mean NDCG@k of the ranker's scores on `dataset`; None for a ranker that cannot score unseen documents."""
    if not ranker.scores_unseen:
        return None
    scores = np.concatenate([ranker.score(features) for features, _, _ in dataset.chunks()])
    return float(dataset_ndcg(scores, dataset.grades, dataset.offsets, k=k).mean())


def checkpoints(rounds: int, n_points: int = 40) -> set[int]:
    """The rounds after which held-out quality is measured: half of them evenly spaced, half geometrically.

    >>> sorted(checkpoints(1000, 8))
    [1, 10, 100, 250, 500, 750, 1000]
    """
    half = max(n_points // 2, 1)
    even = np.linspace(0, rounds, half + 1)[1:]
    geometric = np.geomspace(1, rounds, half)
    return {max(1, round(x)) for x in (*even, *geometric)}


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

    kinds = {"qualified": pa.bool_(), "heldout_ndcg": pa.float64()}
    for name, value in row.items():
        if name not in kinds:
            kinds[name] = pa.int64() if isinstance(value, int | np.integer) else pa.float64()
    return pa.schema([(name, kinds[name]) for name in row])
