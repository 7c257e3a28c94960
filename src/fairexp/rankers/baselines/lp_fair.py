"""Linear programming: the best random ranking whose expected exposure makes up for what groups lack."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any, Unpack

import numpy as np

from fairexp.arrays import Floats, Ints
from fairexp.errors import MissingExtraError
from fairexp.kernels.algebra.linear import top_documents
from fairexp.measures import LIST_UF
from fairexp.ranker import TradeOff
from fairexp.rankers.baselines.group_exposure import FairToGroups, GroupArguments
from fairexp.rankers.baselines.unbiased_relevance import Memory
from fairexp.types import Query
from fairexp.validation import check_number

NOTHING = 1e-9
"""Probabilities below this are what rounding left of 0."""


class LPFair(FairToGroups):
    """Solves in every round for the chances of each document at each position, and draws a ranking that has them.

    The program maximises expected relevance by exposure, less `control` times how far the groups' exposure per merit
    of this list, together with `compensation` times that of all lists before, is from equal. Chances are decomposed
    into rankings (Birkhoff and von Neumann), of which one is drawn. Only the best documents of each group take part, as
    many as there are positions: others are in no optimal solution. Relevance and `merit` are as `FairCo` has them. It
    needs scipy, the extra `fairexp[lp]`.

    Singh and Joachims, "Fairness of exposure in rankings", KDD 2018; online as in Morik, Singh, Hong and Joachims,
    "Controlling fairness and bias in dynamic learning-to-rank", SIGIR 2020.
    """

    trade_off = TradeOff("control", (0.0, 0.01, 0.1, 1.0, 10.0))
    fair_to = "group exposure in expectation, per query, made up for in total"
    needs = "position bias; merit by group, or it is estimated; scipy"
    own_measure = LIST_UF
    relative_cost = 150.0

    def __init__(
        self, n_features: int, *, control: float = 1.0, compensation: float = 1.0, **others: Unpack[GroupArguments]
    ) -> None:
        _scipy()
        super().__init__(n_features, **others)
        self.control = check_number("control", control, at_least=0.0)
        self.compensation = check_number("compensation", compensation, at_least=0.0)

    def _choose(self, query: Query, scores: Floats, rng: np.random.Generator, memory: Memory) -> Ints:
        assert query.groups is not None
        n = min(self.length, len(scores))
        keys, chance = rng.random(len(scores)), rng.random()
        members = [np.flatnonzero(query.groups == group) for group in range(self.n_groups)]
        best = np.concatenate([each[top_documents(scores[each], keys[each], n)] for each in members])
        merits = self.merits()
        owed = self.compensation * self.spent / merits
        solved = fair_chances(scores[best], query.groups[best], self.exposure[:n], merits, owed, self.control)
        total = 0.0
        chosen = np.arange(n)
        for weight, rows in birkhoff(solved):
            chosen, total = rows, total + weight
            if total >= chance:
                break
        return np.asarray(best[chosen], dtype=np.int64)


def fair_chances(scores: Floats, groups: Ints, curve: Floats, merits: Floats, had: Floats, control: float) -> Floats:
    """The chance (m, k) of each document at each position: the optimum of the linear program.

    `had` (G,) is what groups have had per merit before; pairs (g, h) pay `control` for what g then has more than h.
    """
    optimize, sparse = _scipy()
    m, k = len(scores), len(curve)
    pairs = [(g, h) for g in range(len(merits)) for h in range(len(merits)) if g != h]
    costs = np.concatenate([-np.outer(scores, curve).ravel(), np.full(len(pairs), control)])
    per_merit = (np.arange(len(merits))[:, None] == groups) / merits[:, None]
    gaps = np.array([np.outer(per_merit[g] - per_merit[h], curve).ravel() for g, h in pairs]).reshape(-1, m * k)
    rows = sparse.kron(sparse.eye_array(m), np.ones((1, k)))
    columns = sparse.kron(np.ones((1, m)), sparse.eye_array(k))
    no_slack = sparse.coo_array((m, len(pairs)))
    solution = optimize.linprog(
        costs,
        A_ub=sparse.block_array([[rows, no_slack], [gaps, -sparse.eye_array(len(pairs))]] if pairs else [[rows]]),
        b_ub=np.concatenate([np.ones(m), [had[h] - had[g] for g, h in pairs]]),
        A_eq=sparse.hstack([columns, sparse.coo_array((k, len(pairs)))]),
        b_eq=np.ones(k),
        method="highs",
    )
    chances = np.asarray(solution.x[: m * k], dtype=np.float64).reshape(m, k)
    return np.where(chances > NOTHING, chances, 0.0)


def birkhoff(chances: Floats) -> Iterator[tuple[float, Ints]]:
    """Weights that add up to 1, each with a document (k,) for every position, whose mixture has these `chances` (m, k).

    >>> [(weight, rows.tolist()) for weight, rows in birkhoff(np.array([[0.75, 0.25], [0.25, 0.75]]))]
    [(0.75, [0, 1]), (0.25, [1, 0])]
    """
    optimize, _ = _scipy()
    k = chances.shape[1]
    left, total = _completed(chances), 1.0
    while total > NOTHING:
        rows, columns = optimize.linear_sum_assignment(np.where(left > NOTHING, left, -1e3), maximize=True)
        chosen = np.empty(len(rows), dtype=np.int64)
        chosen[columns] = rows
        weight = float(left[rows, columns].min())
        weight = total if weight <= NOTHING else min(weight, total)
        yield weight, chosen[:k]
        left[rows, columns] -= weight
        total -= weight


def _completed(chances: Floats) -> Floats:
    """`chances` (m, k) with positions after the last (m, m) that take what documents have left, one after the other."""
    m, k = chances.shape
    full = np.zeros((m, m))
    full[:, :k] = chances
    column, room = k, 1.0
    for row, rest in enumerate((1.0 - chances.sum(axis=1)).clip(0.0).tolist()):
        amount = rest
        while amount > 0.0 and column < m:
            part = min(amount, room)
            full[row, column] += part
            amount, room = amount - part, room - part
            if room <= NOTHING:
                column, room = column + 1, 1.0
    return full


def _scipy() -> tuple[Any, Any]:
    """scipy.optimize and scipy.sparse."""
    try:
        return import_module("scipy.optimize"), import_module("scipy.sparse")
    except ImportError as error:
        raise MissingExtraError("lp-fair: scipy is not installed; run: pip install 'fairexp[lp]'") from error
