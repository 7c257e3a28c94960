"""C3-UCB and CascadeLinUCB: optimistic click rates that are linear in the features, for all queries at once."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from fairexp.arrays import Floats, State
from fairexp.errors import ArgumentError
from fairexp.randomness import Seed
from fairexp.ranker import Host
from fairexp.rankers.bandits.cascade_ucb import n_examined
from fairexp.rankers.bandits.orders import interval_belief
from fairexp.rankers.bandits.per_query import HORIZON
from fairexp.rankers.bandits.rewards import Rewarded
from fairexp.remap import Remap
from fairexp.ridge import OnlineRidge
from fairexp.scaling import shortened
from fairexp.types import Belief, Query, Ranking
from fairexp.validation import check_count, check_number


class LinearCascade(Rewarded, Host):
    """Ridge regression of clicks on the features of examined documents, shown by the upper bound of the rate.

    Users read from the top and leave with the first click, as the cascade model has it: what stands below was not
    examined. An examined document's click depends on its features alone, so regression stays unbiased when templates
    move documents, and orders between groups are learned as well. An order is certain where one's lower bound exceeds
    the other's upper bound. The guarantees ask for feature vectors of length at most 1; longer ones than
    `fairexp.scaling.MAX_NORM` are shortened to that. With grades the regression is of rewards (`Rewarded`), of
    which the mean must then be linear, and regret is promised for clicks only.
    """

    rescaling = "factor"
    relative_cost = 5.0

    def __init__(self, n_features: int, *, length: int, regularization: float, top_grade: int, seed: Seed) -> None:
        super().__init__(n_features, length=length, seed=seed)
        self.regularization = check_number("regularization", regularization, above=0.0)
        self.top_grade = check_count("top_grade", top_grade)
        self.model = OnlineRidge(self.n_features, regularization=self.regularization)

    @property
    @abstractmethod
    def width_factor(self) -> float:
        """What widths in the norm of the inverse are multiplied by."""

    @abstractmethod
    def _weights_by_position(self, n: int) -> Floats:
        """How much each examined position (n,) counts, as a factor of its row and of its click."""

    def believe(self, query: Query, rng: np.random.Generator | None = None) -> Belief:
        features = shortened(query.features)
        rates = features @ self.model.weights
        width = self.width_factor * np.sqrt(self.model.squared_widths(features))
        rng = self.stream.at(self.n_ranked) if rng is None else rng
        return interval_belief(rates, rates - width, np.minimum(rates + width, 1.0), rng)

    def _reward(self, ranking: Ranking, rewards: Floats) -> None:
        n = n_examined(rewards > 0.0, "first_click")
        weights = self._weights_by_position(n)
        self.model.add(shortened(ranking.features[:n]) * weights[:, None], rewards[:n] * weights)

    def _score(self, features: Floats) -> Floats:
        return np.asarray(shortened(features) @ self.model.weights)

    def linear_model(self) -> Floats:
        return self.model.weights

    def _take_over(self, before: LinearCascade, remap: Remap) -> None:
        self._check_unit(before)
        self.model.take_over(before.model, remap)

    def _state(self) -> State:
        return self.model.state()

    def _restore(self, arrays: State) -> None:
        self.model.restore(arrays)


class C3UCB(LinearCascade):
    """Contextual combinatorial cascades: positions count by `discount`^(position - 1), with a self-normalised bound.

    The width's factor is `noise` sqrt(ln(det V / (lambda^d delta^2))) + sqrt(lambda), with delta = 1 / sqrt(`horizon`);
    `noise` is R, 1/2 for clicks and for rewards from 0 to 1. Regret is O~(d sqrt(T K)). `regularization` is lambda, at
    least the sum of the squared position weights for the published bound (not checked against the paper).

    Li, Wang, Zhang and Chen, "Contextual combinatorial cascading bandits", ICML 2016.
    """

    def __init__(
        self,
        n_features: int,
        *,
        length: int = 10,
        regularization: float = 10.0,
        discount: float = 1.0,
        noise: float = 0.5,
        horizon: int = HORIZON,
        top_grade: int = 1,
        seed: Seed = None,
    ) -> None:
        super().__init__(n_features, length=length, regularization=regularization, top_grade=top_grade, seed=seed)
        self.discount = check_number("discount", discount, above=0.0)
        if self.discount > 1.0:
            raise ArgumentError("discount", discount, "a number of at most 1")
        self.noise = check_number("noise", noise, above=0.0)
        self.horizon = check_count("horizon", horizon)

    @property
    def width_factor(self) -> float:
        deviation = self.model.log_det_ratio + np.log(self.horizon)
        return float(self.noise * np.sqrt(max(deviation, 0.0)) + np.sqrt(self.regularization))

    def _weights_by_position(self, n: int) -> Floats:
        return np.asarray(self.discount ** np.arange(n))


class CascadeLinUCB(LinearCascade):
    """Linear cascading bandits: M = I + sum of x x^T / sigma^2 over examined documents.

    The width's factor is `width`, or with "theory" sqrt(d ln(1 + T K / d) + 2 ln(T K)) + `bound`, for `horizon` = T
    rounds and ||theta*|| <= `bound`. Regret is O~(K d sqrt(T)) (not checked against the paper). `noise` is sigma.
    Only with "theory" are intervals bounds, of click rates or of mean rewards.

    Zong, Ni, Sung, Ke, Wen and Kveton, "Cascading bandits for large-scale recommendation problems", UAI 2016.
    """

    def __init__(
        self,
        n_features: int,
        *,
        length: int = 10,
        noise: float = 1.0,
        width: float | str = 1.0,
        bound: float = 1.0,
        horizon: int = HORIZON,
        top_grade: int = 1,
        seed: Seed = None,
    ) -> None:
        super().__init__(n_features, length=length, regularization=1.0, top_grade=top_grade, seed=seed)
        self.noise = check_number("noise", noise, above=0.0)
        if width != "theory":
            check_number("width", width, at_least=0.0)  # type: ignore[arg-type]
        self.width = width
        self.bound = check_number("bound", bound, above=0.0)
        self.horizon = check_count("horizon", horizon)

    @property
    def width_factor(self) -> float:
        if self.width != "theory":
            return float(self.width)
        d, shown = self.n_features, self.horizon * self.length
        return float(np.sqrt(d * np.log(1.0 + shown / d) + 2.0 * np.log(shown)) + self.bound)

    def _weights_by_position(self, n: int) -> Floats:
        return np.full(n, 1.0 / self.noise)
