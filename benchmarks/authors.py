"""FairExp around PairRank as its authors' published code decides where the paper leaves it open, in plain NumPy.

That code cannot be run as it was published. What it does was written down from reading it, and is written anew here, so
that FairExp can be compared with it on any data: the mean log-loss (not the sum) plus lambda ||theta||^2, pairs matched
at random, orders inside a block by how many certain orders are against and for a document and otherwise as they come,
added regret counted among shown documents only, the first template without any (by least unfairness) or else the least,
and the least unfair one where none is within the tolerance. `python -m benchmarks.leads --variants authors default`
plays both on the same queries and coins.
"""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np

from fairexp.arrays import Bools, Floats, Ints
from fairexp.types import Query

SETTLED = 1e-7
"""The largest gradient of the mean loss at which theta is taken."""

HELPS = 0.7
"""What part of the gradient a step may leave."""


class AuthorsFairExp:
    """What `benchmarks.leads.play` needs of a ranker: rank, update, score and the largest gap so far."""

    def __init__(
        self,
        n_features: int,
        *,
        tolerance: float = 0.1,
        regularization: float = 0.1,
        alpha: float = 0.1,
        length: int = 10,
        seed: int = 0,
    ) -> None:
        self.tolerance, self.regularization, self.alpha, self.length = tolerance, regularization, alpha, length
        self.rng = np.random.default_rng([seed, 7])
        self.theta = np.zeros(n_features)
        self.inverse = np.eye(n_features) / regularization
        self.rows = np.zeros((0, n_features))
        self.n_rows = 0
        self.step = np.eye(n_features) / (2.0 * regularization)
        self.ledger = SimpleNamespace(unfairness=0.0, largest_gap=0.0)

    def rank(self, query: Query) -> Any:
        scores = query.features @ self.theta
        certain = self._certain(query.features, scores)
        order = _inside_blocks(certain, scores)
        assert query.groups is not None
        shown, unfairness = self._least_regret(order, query.groups, certain)
        self.ledger.unfairness = unfairness
        self.ledger.largest_gap = abs(unfairness)
        return SimpleNamespace(shown=shown, features=query.features[shown], belief=None)

    def _certain(self, features: Floats, scores: Floats) -> Bools:
        gram = features @ self.inverse @ features.T
        squares = gram.diagonal()
        width = self.alpha * np.sqrt(np.maximum(squares[:, None] + squares[None, :] - 2.0 * gram, 0.0))
        return np.asarray(1.0 / (1.0 + np.exp(scores[None, :] - scores[:, None])) - width > 0.5)

    def _least_regret(self, order: Ints, groups: Ints, certain: Bools) -> tuple[Ints, float]:
        """The shown documents, and the cumulative unfairness after them."""
        queues = [order[groups[order] == group] for group in (0, 1)]
        k = min(self.length, len(order))
        taken, gains = _templates(k)
        after = self.ledger.unfairness + gains
        fits = (taken[:, -1] <= len(queues[0])) & (k - taken[:, -1] <= len(queues[1]))
        by_gap = np.argsort(np.where(fits, np.abs(after), np.inf), kind="stable")
        qualified = by_gap[: int((np.abs(after[fits]) <= self.tolerance).sum())]
        if not len(qualified):
            best = by_gap[0]
            return _popped(queues, taken[best : best + 1])[0], float(after[best])
        lists = _popped(queues, taken[qualified])
        above, below = np.triu_indices(k, 1)
        reversed_orders = certain[lists[:, below], lists[:, above]].sum(axis=1)
        best = int(reversed_orders.argmin())
        return lists[best], float(after[qualified[best]])

    def update(self, ranking: Any, clicks: Bools) -> None:
        if not clicks.any():
            return
        n_examined = min(int(np.flatnonzero(clicks)[-1]) + 2, len(clicks))
        clicked, unclicked = np.flatnonzero(clicks), np.flatnonzero(~clicks[:n_examined])
        n_pairs = min(len(clicked), len(unclicked))
        if n_pairs == 0:
            return
        first, second = (self.rng.permutation(of)[:n_pairs] for of in (clicked, unclicked))
        rows = ranking.features[first] - ranking.features[second]
        for row in rows:
            pulled = self.inverse @ row
            self.inverse -= np.outer(pulled, pulled) / (1.0 + row @ pulled)
        self._keep(rows)
        self._fit()

    def _keep(self, rows: Floats) -> None:
        if self.n_rows + len(rows) > len(self.rows):
            self.rows = np.concatenate([self.rows, np.zeros((max(256, len(self.rows)), self.rows.shape[1]))])
        self.rows[self.n_rows : self.n_rows + len(rows)] = rows
        self.n_rows += len(rows)

    def _fit(self) -> None:
        """The minimiser, from the last one: Newton's method, whose curvature is taken anew when steps hardly help."""
        rows, before = self.rows[: self.n_rows], np.inf
        for _ in range(1000):
            pull = 1.0 / (1.0 + np.exp(rows @ self.theta))
            gradient = 2.0 * self.regularization * self.theta - rows.T @ pull / len(rows)
            size = float(np.abs(gradient).max())
            if size < SETTLED:
                return
            if size > HELPS * before:
                weights = pull * (1.0 - pull) / len(rows)
                curvature = (rows.T * weights) @ rows + 2.0 * self.regularization * np.eye(len(self.theta))
                self.step = np.linalg.inv(curvature)
            towards, length, value = self.step @ gradient, 1.0, self._objective(self.theta)
            while self._objective(self.theta - length * towards) > value and length > SETTLED:
                length /= 2.0
            self.theta = self.theta - length * towards
            before = size

    def _objective(self, theta: Floats) -> float:
        loss = np.logaddexp(0.0, -(self.rows[: self.n_rows] @ theta)).mean()
        return float(loss + self.regularization * theta @ theta)

    def score(self, features: Floats) -> Floats:
        return np.asarray(features @ self.theta)


def _inside_blocks(certain: Bools, scores: Floats) -> Ints:
    """Documents block by block; in a block by certain orders against them, then for them, then as they come."""
    by_score = np.argsort(-scores, kind="stable")
    ordered = certain[np.ix_(by_score, by_score)]
    uncertain = ~(ordered | ordered.T)
    reach = np.maximum.accumulate(len(scores) - 1 - uncertain[:, ::-1].argmax(axis=1))
    block = np.concatenate([[0], np.cumsum(reach[:-1] <= np.arange(len(scores) - 1))])
    number = np.empty(len(scores), dtype=np.int64)
    number[by_score] = block
    within = certain & (number[:, None] == number[None, :])
    return np.lexsort((np.arange(len(scores)), -within.sum(axis=1), within.sum(axis=0), number))


_MADE: dict[int, tuple[Ints, Floats]] = {}


def _templates(k: int) -> tuple[Ints, Floats]:
    """How many of group 0 every template has down to each position (2^k, k), and what its lists add to unfairness."""
    if k not in _MADE:
        first = np.array(list(product((1, 0), repeat=k)), dtype=np.int64)
        _MADE[k] = np.cumsum(first, axis=1), (2 * first - 1) @ (1.0 / np.arange(1, k + 1))
    return _MADE[k]


def _popped(queues: list[Ints], taken: Ints) -> Ints:
    """The lists (m, k) that templates make of the two queues."""
    k = taken.shape[1]
    of_first = np.diff(taken, axis=1, prepend=0) == 1
    zeros, ones = (np.concatenate([queue, np.zeros(k, dtype=np.int64)]) for queue in queues)
    return np.asarray(np.where(of_first, zeros[taken - 1], ones[np.arange(1, k + 1) - taken - 1]))
