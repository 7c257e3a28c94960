"""Pairwise differentiable gradient descent with a small network."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairexp.arrays import Floats
from fairexp.errors import StateError
from fairexp.randomness import Seed
from fairexp.rankers.pdgd.ranker import PDGD
from fairexp.remap import Remap
from fairexp.scaling import shortened
from fairexp.validation import check_count

BEFORE_ALL = 2**64 - 1
"""The occasion on which the network is drawn: no ranking has this number."""


class NeuralPDGD(PDGD):
    """PDGD whose scores come from a network with one layer of `hidden` sigmoid units, drawn at random at first.

    All that it learns is one vector `weights`: of each unit the weights of the features (h, d), then its bias (h,),
    then what it adds to the score (h,). They start normal with mean 0 and variance 1 / fan-in, biases at 0, and move
    along the gradient as those of PDGD do.

    Oosterhuis and de Rijke, "Differentiable unbiased online learning to rank", CIKM 2018.
    """

    relative_cost = 5.0
    rescaling = "factor"

    def __init__(
        self,
        n_features: int,
        *,
        length: int = 10,
        hidden: int = 64,
        learning_rate: float = 0.01,
        decay: float = 1.0,
        seed: Seed = None,
    ) -> None:
        super().__init__(n_features, length=length, learning_rate=learning_rate, decay=decay, seed=seed)
        self.hidden = check_count("hidden", hidden)
        rng = self.stream.at(BEFORE_ALL)
        layer = rng.standard_normal((self.hidden, self.n_features)) / np.sqrt(self.n_features)
        output = rng.standard_normal(self.hidden) / np.sqrt(self.hidden)
        self.weights = np.concatenate([layer.ravel(), np.zeros(self.hidden), output])

    def linear_model(self) -> None:
        """None: scores are not linear in the features."""

    def _network(self) -> tuple[Floats, Floats, Floats]:
        """The weights of each unit (h, d), their biases (h,) and what they add to the score (h,)."""
        layer, biases, output = np.split(self.weights, [-2 * self.hidden, -self.hidden])
        return layer.reshape(self.hidden, self.n_features), biases, output

    def _score(self, features: Floats) -> Floats:
        layer, biases, output = self._network()
        return np.asarray(_activity(shortened(features), layer, biases) @ output)

    def _gradient(self, features: Floats, factors: Floats) -> Floats:
        layer, biases, output = self._network()
        activity = _activity(features, layer, biases)
        inner = factors[:, np.newaxis] * output * activity * (1.0 - activity)
        return np.concatenate([(inner.T @ features).ravel(), inner.sum(axis=0), factors @ activity])

    def _take_over(self, before: Any, remap: Remap) -> None:
        if before.hidden != self.hidden:
            raise StateError(
                f"ranker: a network of {before.hidden} units cannot be taken over by one of {self.hidden}; "
                f"give both as many"
            )
        layer, biases, output = before._network()
        rows = [remap.weights(unit) for unit in layer]
        self.weights = np.concatenate([*rows, biases, output])
        self._rate = self.learning_rate * (before._rate / before.learning_rate)


def _activity(features: Floats, layer: Floats, biases: Floats) -> Floats:
    """What each unit (n, h) answers to `features` (n, d): the logistic function of a linear one."""
    return np.asarray(0.5 + 0.5 * np.tanh(0.5 * (features @ layer.T + biases)))
