"""One broken ranker for every promise about traits, parameters and clones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fairexp.types import Query
from tests.checks.broken import Sound


class LearnsPartsTwice(Sound):
    """It counts positions without a click each time that it hears of them."""

    learns_by_increments = True

    def _update(self, ranking, clicks):
        self.weights = self.weights + 0.01 * (clicks.sum() - (~clicks).sum())


class CountsGradesTwice(Sound):
    uses_grades = True

    def _update_graded(self, ranking, grades):
        self._update(ranking, grades > 0)
        self._update(ranking, grades > 0)


class KeepsWhatIsGivenBack(Sound):
    keeps_account = True
    spent = np.zeros(2)

    def account(self):
        return self.spent

    def _rank(self, query, rng):
        ranking = super()._rank(query, rng)
        return replace(ranking, exposure=np.ones(len(ranking)))

    def _shown(self, ranking):
        self.spent = self.spent + np.bincount(ranking.groups, weights=ranking.exposure, minlength=2)


class KeepsNoAccount(Sound):
    keeps_account = True


class ForgetsToCharge(Sound):
    keeps_account = True

    def account(self):
        return np.zeros(2)

    def _rank(self, query, rng):
        ranking = super()._rank(query, rng)
        return replace(ranking, exposure=np.ones(len(ranking)))


class NeverQualified(Sound):
    keeps_tolerance = True


class QualifiedWithoutTolerance(Sound):
    def _rank(self, query, rng):
        return replace(super()._rank(query, rng), qualified=True)


class TakesNameless(Sound):
    needs_query_id = True

    def _check_query(self, query):
        super()._check_query(replace(query, query_id="any") if isinstance(query, Query) else query)


class WantsNames(Sound):
    def _rank(self, query, rng):
        if query.query_id is None:
            raise KeyError("no id")
        return super()._rank(query, rng)


class LosesAParameter(Sound):
    def __init__(self, n_features=5, *, length=10, step=0.1, seed=None):
        super().__init__(n_features, length=length, seed=seed)


class ClonesWhatItLearned(Sound):
    def clone(self, seed=None):
        return super().clone(seed).restore(self.state())
