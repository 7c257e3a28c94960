"""What a run keeps besides its usual rows, where asked to: columns of the trace, measures of the field, the ranker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairexp.arrays import Bools, Floats
from fairexp.errors import ArgumentError
from fairexp.lab.data import Dataset
from fairexp.lab.simulation.audit import Audit, field_measures
from fairexp.lab.simulation.meter import PlayedRound
from fairexp.measures import Measure
from fairexp.randomness import make_rng, stream_of
from fairexp.ranker import Ranker
from fairexp.types import Query
from fairexp.validation import as_names, check_count

if TYPE_CHECKING:
    from fairexp.lab.offpolicy.propensity import Propensity

SHOWN, CLICKED, EXAMINED, PROPENSITY, BLOCKS = COLUMNS = ("shown", "clicked", "examined", "propensity", "blocks")
RANKER = "ranker"
STATE = "ranker.npz"
OWN_STREAM = 7_003
"""Sets the random numbers of redraws apart from those of the run, which they leave as it is."""


@dataclass(frozen=True)
class Recording:
    """What to keep of a run besides its usual measures.

    Args:
        columns: Names of `COLUMNS` to keep in the trace, and `ranker` for what was learned; "all" keeps everything.
            Several names, or one text with commas.
        measures: Measures of the field by name, "field" for all; several names, or one text with commas.
        draws: Times that a list is drawn again to estimate a propensity that has no closed form.

    >>> Recording("shown,clicked", "Gini").columns
    ('shown', 'clicked')
    """

    columns: str | Sequence[str] = ()
    measures: str | Sequence[str] = ()
    draws: int = 64

    def __post_init__(self) -> None:
        columns = as_names("record", self.columns)
        object.__setattr__(self, "columns", (*COLUMNS, RANKER) if "all" in columns else columns)
        object.__setattr__(self, "measures", as_names("measure", self.measures))
        for column in self.columns:
            if column not in (*COLUMNS, RANKER):
                raise ArgumentError("record", repr(column), f"one of {', '.join((*COLUMNS, RANKER))}")
        field_measures(self.measures)
        check_count("draws", self.draws)


NOTHING_MORE = Recording()


class Recorder:
    """Keeps what a `Recording` asks for, of rounds on `train`; see `simulate` for the rest."""

    def __init__(
        self,
        recording: Recording,
        train: Dataset,
        *,
        exposure: Floats,
        shares: Floats | None,
        seed: int | np.random.SeedSequence,
    ) -> None:
        self._recording, self._train = recording, train
        wanted = field_measures(recording.measures)
        self._audit = Audit(wanted, exposure=exposure, shares=shares) if wanted else None
        self._rng = make_rng(stream_of(seed, OWN_STREAM))

    def propensity(self, ranker: Ranker, query: Query) -> Propensity | None:
        """How probable the list is that the ranker shows next, where it is to be kept."""
        if PROPENSITY not in self._recording.columns:
            return None
        from fairexp.lab.offpolicy.propensity import next_propensity

        return next_propensity(ranker, query, n_draws=self._recording.draws, rng=self._rng)

    def columns(self, played: PlayedRound) -> dict[str, Any]:
        """What is kept of a round, by column."""
        if self._audit is not None:
            rows = self._train.rows(played.query)
            groups = None if self._train.groups is None else np.asarray(self._train.groups[rows])
            self._audit.add(played, groups)
        kept: dict[str, Any] = {}
        for column in self._recording.columns:
            if column == PROPENSITY:
                kept.update(_of_propensity(played.propensity))
            elif column == SHOWN:
                kept[SHOWN] = played.ranking.shown.tolist()
            elif column == CLICKED:
                kept[CLICKED] = _places(played.clicks)
            elif column == EXAMINED:
                kept[EXAMINED] = _places(played.examined)
            elif column == BLOCKS:
                belief = played.ranking.belief
                kept[BLOCKS] = None if belief is None else belief.block.tolist()
        return kept

    def measures(self) -> dict[Measure, float | None]:
        """The measures of the field that were asked for."""
        return {} if self._audit is None else self._audit.values()

    def keep(self, ranker: Ranker, folder: Path) -> None:
        """Keep the ranker's state beside the run, where asked to."""
        if RANKER in self._recording.columns:
            arrays: dict[str, Any] = dict(ranker.state())
            np.savez_compressed(folder / STATE, **arrays)


def column_kinds() -> dict[str, Any]:
    """The Parquet types of the columns: lists of small whole numbers, and of probabilities."""
    import pyarrow as pa

    places, documents = pa.list_(pa.int16()), pa.list_(pa.int32())
    return {
        SHOWN: documents,
        CLICKED: places,
        EXAMINED: places,
        BLOCKS: documents,
        PROPENSITY: pa.list_(pa.float64()),
        "propensity_kind": pa.string(),
        "list_log_propensity": pa.float64(),
    }


def _places(chosen: Bools | None) -> list[int] | None:
    """Positions, from 1."""
    return None if chosen is None else (np.flatnonzero(chosen) + 1).tolist()


def _of_propensity(found: Propensity | None) -> dict[str, Any]:
    assert found is not None
    return {
        PROPENSITY: found.positions.tolist(),
        "propensity_kind": found.kind,
        "list_log_propensity": found.log_list,
    }
