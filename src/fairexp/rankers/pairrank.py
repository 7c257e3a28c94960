"""PairRank: pairwise logistic regression that explores only where the order of two documents is uncertain."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fairexp.arrays import Bools, Floats, Ints, State
from fairexp.errors import ArgumentError
from fairexp.kernels.belief import WITHIN_BLOCK, certain_orders, exploration_draw
from fairexp.randomness import Seed
from fairexp.rankers.base import Explorer
from fairexp.rankers.confidence import Confidence
from fairexp.rankers.logistic import PairwiseLogistic
from fairexp.rankers.pairs import PAIRS, preference_rows
from fairexp.types import Belief, Query, Ranking
from fairexp.validation import check_choice, check_count, check_number


class PairRank(Explorer):
    """Orders are certain where the confidence interval of their probability excludes 1/2; the rest is explored.

    - `alpha`: the width's factor, a number, or "theory" for the alpha_t of Lemma 1 from `delta` (the probability of
      failure), `noise` (R, the sub-Gaussian constant of click noise), `bound` (Q >= ||theta*||) and `reach` (an upper
      bound on ||x_i - x_j||, which gives the smallest slope c_mu of the link).
    - `regularization`: lambda.
    - `within_block`: "certain" draws among the orders that respect the certain ones, "random" shuffles the block
      (the analysed version), "score" sorts it.
    - `pairs`: "all" clicked-over-unclicked pairs, or "independent" ones, each document in at most one.
    - `history`: "bounded" keeps the latest `window` preference rows exactly and older ones as a quadratic;
      "full" keeps all and minimises exactly.

    Y. Jia, H. Wang, S. Guo and H. Wang, PairRank: Online Pairwise Learning to Rank by Divide-and-Conquer, WWW 2021.
    """

    def __init__(
        self,
        n_features: int,
        *,
        length: int = 10,
        alpha: float | Literal["theory"] = 0.1,
        regularization: float = 10.0,
        within_block: str = "certain",
        pairs: str = "independent",
        history: str = "bounded",
        window: int = 1024,
        delta: float = 0.05,
        noise: float = 0.5,
        bound: float = 1.0,
        reach: float = 1.0,
        seed: Seed = None,
    ) -> None:
        super().__init__(n_features, length=length, seed=seed)
        if alpha != "theory":
            check_number("alpha", alpha, at_least=0.0)
        self.alpha = alpha
        self.regularization = check_number("regularization", regularization, above=0.0)
        self.within_block = check_choice("within_block", within_block, tuple(WITHIN_BLOCK))
        self.pairs = check_choice("pairs", pairs, PAIRS)
        self.history = check_choice("history", history, ("bounded", "full"))
        self.keeps_history = self.history == "full"
        self.window = check_count("window", window)
        self.delta = check_number("delta", delta, above=0.0)
        if self.delta >= 1.0:
            raise ArgumentError("delta", delta, "a probability below 1")
        self.noise = check_number("noise", noise, above=0.0)
        self.bound = check_number("bound", bound, above=0.0)
        self.reach = check_number("reach", reach, above=0.0)
        self.model = PairwiseLogistic(
            self.n_features,
            regularization=self.regularization,
            window=self.window if self.history == "bounded" else None,
        )
        self.confidence = Confidence(self.n_features, regularization=self.regularization)

    @property
    def width_factor(self) -> float:
        """alpha, or the theoretical alpha_t of this round."""
        if self.alpha != "theory":
            return float(self.alpha)
        slope_bound = 0.25
        tail = np.exp(-self.bound * self.reach)
        smallest_slope = tail / (1.0 + tail) ** 2
        deviation = np.sqrt(self.noise**2 * (self.confidence.log_det_ratio - 2.0 * np.log(self.delta)))
        bias = np.sqrt(self.regularization) * self.bound
        return float(2.0 * slope_bound / smallest_slope * (deviation + bias))

    def believe(self, query: Query, rng: np.random.Generator | None = None) -> Belief:
        keys = (self._stream.at(self.n_ranked) if rng is None else rng).random(query.n_candidates)
        scores = query.features @ self.model.theta
        gram = (query.features @ self.confidence.inverse) @ query.features.T
        certain, block, above, below, by_score = certain_orders(scores, gram, self.width_factor)
        if self.within_block == "score":
            by_score = np.lexsort((keys, -scores))
        draw = exploration_draw(certain, block, above, below, by_score, keys, WITHIN_BLOCK[self.within_block])
        return Belief(scores=scores, draw=draw, block=block, certain_order=certain)

    def _memory(self, shown: Ints, rng: np.random.Generator) -> dict[str, NDArray[np.generic]]:
        return {"keys": rng.random(len(shown))} if self.pairs == "independent" else {}

    def _update(self, ranking: Ranking, clicks: Bools) -> None:
        keys = ranking.memory.get("keys")
        rows = preference_rows(ranking.features, clicks, None if keys is None else np.asarray(keys, dtype=np.float64))
        self.model.add(rows)
        self.confidence.add(rows)

    def _score(self, features: Floats) -> Floats:
        return np.asarray(features @ self.model.theta)

    def _state(self) -> State:
        own: State = {f"model.{key}": value for key, value in self.model.state().items()}
        own.update({f"confidence.{key}": value for key, value in self.confidence.state().items()})
        return own

    def _restore(self, arrays: State) -> None:
        self.model.restore({key[6:]: value for key, value in arrays.items() if key.startswith("model.")})
        self.confidence.restore({key[11:]: value for key, value in arrays.items() if key.startswith("confidence.")})

    def _fits(self, key: str, value: NDArray[np.generic], expected: NDArray[np.generic]) -> bool:
        if key in ("model.rows", "model.margins", "model.weights"):
            too_long = self.history == "bounded" and len(value) > self.window
            return value.shape[1:] == expected.shape[1:] and value.dtype == expected.dtype and not too_long
        return super()._fits(key, value, expected)
