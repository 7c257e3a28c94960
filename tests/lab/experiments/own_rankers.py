"""Rankers that tests bring along: one that is slow, some that break, some that take their process with them."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np

from fairexp.arrays import Floats
from fairexp.rankers.baselines.controls import RandomRanker
from fairexp.types import Query, Ranking
from tests.waiting import until


class Waits(RandomRanker):
    """Once two runs have their records in `folder`, those that begin wait for a file `go` there."""

    def __init__(self, n_features: int, *, length: int = 10, folder: str = "", seed: object = None) -> None:
        super().__init__(n_features, length=length, seed=seed)  # type: ignore[arg-type]
        self.folder = Path(folder)

    def _rank(self, query: Query, rng: np.random.Generator) -> Ranking:
        if self.n_ranked == 0 and len(list((self.folder / "runs").rglob("*.json"))) >= 2:
            until((self.folder / "go").exists)
        return super()._rank(query, rng)


class Raises(RandomRanker):
    """Cannot rank at all."""

    def _rank(self, query: Query, rng: np.random.Generator) -> Ranking:
        raise RuntimeError("no idea how to rank this")


class RaisesLater(RandomRanker):
    """Breaks in its third round, but only for some streams of random numbers."""

    def __init__(self, n_features: int, *, length: int = 10, odd: bool = True, seed: object = None) -> None:
        super().__init__(n_features, length=length, seed=seed)  # type: ignore[arg-type]
        self.odd = odd

    def _rank(self, query: Query, rng: np.random.Generator) -> Ranking:
        if self.n_ranked == 2 and self.odd:
            raise RuntimeError("lost the thread in round 3")
        return super()._rank(query, rng)


class DiesOnce(RandomRanker):
    """Kills its process in round 3, unless a file says that it has done so before."""

    def __init__(self, n_features: int, *, length: int = 10, mark: str = "", seed: object = None) -> None:
        super().__init__(n_features, length=length, seed=seed)  # type: ignore[arg-type]
        self.mark = mark

    def _rank(self, query: Query, rng: np.random.Generator) -> Ranking:
        if self.n_ranked == 2:
            try:
                os.close(os.open(self.mark, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                pass
            else:
                os.kill(os.getpid(), signal.SIGKILL)
        return super()._rank(query, rng)


class Dies(RandomRanker):
    """Kills its process in round 3, every time."""

    def _rank(self, query: Query, rng: np.random.Generator) -> Ranking:
        if self.n_ranked == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return super()._rank(query, rng)

    def _score(self, features: Floats) -> Floats:
        return np.zeros(len(features))
