"""PairRank: pairwise logistic regression that explores only where the order of two documents is uncertain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from fairexp.arrays import Bools, Floats, Ints, State
from fairexp.errors import ArgumentError
from fairexp.kernels.algebra.linear import row_products
from fairexp.kernels.pairrank.belief import WITHIN_BLOCK, explore, mark_certain, surely_far
from fairexp.prior import Prior, as_prior
from fairexp.randomness import Seed
from fairexp.ranker import Host
from fairexp.rankers.pairrank.calibration import Calibration
from fairexp.rankers.pairrank.model import PairwiseLogistic
from fairexp.rankers.pairrank.pairs import PAIRS, examined, graded_rows, matching_weight, preference_rows, scatter_rows
from fairexp.rankers.pairrank.seen_documents import SeenDocuments
from fairexp.rankers.pairrank.units import unit_of
from fairexp.rankers.pairrank.widths import Confidence, DiagonalConfidence
from fairexp.rankers.probabilities import log_respecting, next_respecting, tie_classes
from fairexp.reliability import Reliability
from fairexp.remap import Remap
from fairexp.types import Belief, Query, Ranking
from fairexp.validation import check_choice, check_count, check_number

WIDTHS: dict[str, type[Confidence] | type[DiagonalConfidence]] = {"full": Confidence, "diagonal": DiagonalConfidence}

PRECISION = {"bounded": 1e-3, "full": 1e-9}
"""How much lower the next step may promise to bring the objective, by `history`, when theta is taken as it is. What
clicks leave uncertain about theta is worth about d / 2; a thousandth changes nothing, and saves a step per update."""

CERTAINTY = ("checked", "paper")

START = 10.0
"""The regularization before there is evidence."""

PAUSE = 32
"""Pairs, at least, between looks at the evidence; later a quarter of those seen, or half as many as features."""

SLAB = 48
"""Rows of the Gram matrix that are held at once."""

MANY = 3
"""Pairs for each examined document from which on M takes fewer rows with the same sum of squares."""

_NO_ORDER = np.zeros(0, dtype=np.int64)


class PairRank(Host):
    """An order is kept where the confidence interval of its probability excludes 1/2; the rest is explored.

    - `alpha`: the width's factor, a number, or "theory" for the alpha_t of Lemma 1 from `delta` (the probability of
      failure), `noise` (R, the sub-Gaussian constant of click noise), `bound` (Q >= ||theta*||) and `reach` (an upper
      bound on ||x_i - x_j||, which gives the smallest slope c_mu of the link).
    - `regularization`: lambda, a number, or "evidence" for what makes the clicks so far most likely: noisy clicks get
      more of it, and features as much each or by how much they vary, whichever the clicks speak for. Queries of which
      no candidate was ever learned from are then ranked, and documents scored, with more of it, for what is known of
      those that come again says less of others. Features may be of any size: the first clicks, or the prior's spread,
      say of which. A number is that of the features as they come.
    - `certainty`: "checked" has what reversing an order costs, and which orders are called certain, come from the
      probability that the order is right, by how often such orders held in the clicks that followed (`Calibration`);
      "paper" calls certain, and counts as 1, all orders that are kept.
    - `within_block`: "certain" draws among the orders that respect the certain ones, "random" shuffles the block
      (the analysed version), "score" sorts it.
    - `pairs`: "independent" ones match clicked with unclicked documents at random, each in at most one pair; "averaged"
      has all pairs, each with the weight of the chance that a random matching holds it, which is the mean over all
      matchings and so learns the same with less noise; "all" counts each of them as one.
    - `history`: "bounded" keeps the latest `window` preference rows exactly and older ones as a quadratic, and stops
      within a thousandth of the least objective; "full" keeps all and minimises exactly.
    - `width`: "full" matrix M, or its "diagonal" for very many features.
    - `prior`: a `Prior` to start from, or a file that `fairexp learn` wrote. The estimate is pulled to its weights and
      the widths are around them: two documents are shown in the prior's order where that is more certain than
      alpha sqrt(d / strength), and explored where it is not. With "evidence" clicks also say on which scale the
      weights are meant, at most their own. With alpha "theory", `bound` is then that of ||theta* - prior||.

    Y. Jia, H. Wang, S. Guo and H. Wang, PairRank: Online Pairwise Learning to Rank by Divide-and-Conquer, WWW 2021.
    """

    learns_by_increments = True
    uses_grades = True
    relative_cost = 10.0
    paper_settings: ClassVar[Mapping[str, Any]] = {
        "alpha": 0.1,
        "regularization": 0.1,
        "certainty": "paper",
        "within_block": "certain",
        "pairs": "independent",
        "history": "full",
    }
    """The parameters of the FairExp paper; of alpha and regularization it tries .1, .01 and .001."""

    def __init__(
        self,
        n_features: int,
        *,
        length: int = 10,
        alpha: float | Literal["theory"] = 0.1,
        regularization: float | Literal["evidence"] = "evidence",
        certainty: str = "checked",
        within_block: str = "certain",
        pairs: str = "averaged",
        history: str = "bounded",
        window: int = 1024,
        width: str = "full",
        delta: float = 0.05,
        noise: float = 0.5,
        bound: float = 1.0,
        reach: float = 1.0,
        prior: Prior | str | Path | None = None,
        seed: Seed = None,
    ) -> None:
        super().__init__(n_features, length=length, seed=seed)
        if not isinstance(alpha, str) or alpha != "theory":
            check_number("alpha", alpha, at_least=0.0)
        self.alpha = alpha
        if not isinstance(regularization, str) or regularization != "evidence":
            check_number("regularization", regularization, above=0.0)
        self.regularization = regularization
        self.certainty = check_choice("certainty", certainty, CERTAINTY)
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
        self.prior = as_prior(prior, n_features=self.n_features)
        start = START if regularization == "evidence" else float(regularization)
        self._unit = None if regularization == "evidence" else 1.0
        own_prior = self.prior
        if self.prior is not None and self._unit is None:
            self._unit = unit_of(self.prior.spread) or 1.0
            own_prior = self.prior.in_unit(self.unit)
        self.model = PairwiseLogistic(
            self.n_features,
            regularization=start,
            window=self.window if self.history == "bounded" else None,
            precision=PRECISION[self.history],
            prior=own_prior,
        )
        self.width = check_choice("width", width, tuple(WIDTHS))
        self.confidence = WIDTHS[self.width](self.n_features, regularization=start, prior=own_prior)
        self.calibration = Calibration()
        self.seen_documents = SeenDocuments(self.n_features)
        self._n_pairs, self._due = 0.0, float(PAUSE)

    @classmethod
    def paper(cls, n_features: int, **others: Any) -> Self:
        """With `paper_settings`; `others` are further parameters, or take the place of some.

        >>> PairRank.paper(3, alpha=0.01).certainty
        'paper'
        """
        return cls(n_features, **{**cls.paper_settings, **others})

    @property
    def unit(self) -> float:
        """What features are divided by before anything else, so that what is learned does not depend on their size."""
        return 1.0 if self._unit is None else self._unit

    def _in_unit(self, features: Floats) -> Floats:
        """Features, or differences of features, in the ranker's own unit."""
        return features if self.unit == 1.0 else features / self.unit

    @property
    def width_factor(self) -> float:
        """alpha, or the theoretical alpha_t of this round."""
        if self.alpha != "theory":
            return float(self.alpha)
        slope_bound = 0.25
        tail = np.exp(-self.bound * self.reach)
        smallest_slope = tail / (1.0 + tail) ** 2
        deviation = np.sqrt(self.noise**2 * (self.confidence.log_det_ratio - 2.0 * np.log(self.delta)))
        bias = np.sqrt(self.confidence.start.max()) * self.bound * self.unit
        return float(2.0 * slope_bound / smallest_slope * (deviation + bias))

    def believe(self, query: Query, rng: np.random.Generator | None = None) -> Belief:
        keys = (self.stream.at(self.n_ranked) if rng is None else rng).random(query.n_candidates)
        features = self._in_unit(query.features)
        scores = features @ self._weights(query)
        # Ties are never certain, so their order matters only where blocks are sorted by score.
        by_score = np.lexsort((keys, -scores)) if self.within_block == "score" else (-scores).argsort()
        falling = scores[by_score]
        certain, last, above, below = self._certain_orders(features.take(by_score, axis=0), falling)
        shuffled = np.argsort(keys) if self.within_block == "random" else _NO_ORDER
        block, draw = explore(certain, last, above, below, keys, shuffled, WITHIN_BLOCK[self.within_block])
        by_document = np.empty_like(block)
        by_document[by_score] = block
        costs = self.calibration.costs(falling, certain) if self.certainty == "checked" else None
        return Belief(
            scores=scores,
            draw=by_score[draw],
            block=by_document,
            above=certain if costs is None else None,
            by_row=by_score,
            regret=costs,
        )

    def _weights(self, query: Query) -> Floats:
        """theta (d,), or what it is for documents of which none was learned from."""
        as_ever = self.regularization != "evidence" or self.seen_documents.with_any_of(query.features)
        return self.model.theta if as_ever else self.model.theta_of_new

    def _certain_orders(self, features: Floats, scores: Floats) -> tuple[Bools, Ints, Ints, Ints]:
        """The orders to keep between documents sorted by score, the last position uncertain with each, and counts.

        Products are taken a slab of rows at a time, and only as far down as orders could be uncertain, so that many
        candidates need no n x n matrix of floats.
        """
        n, factor = len(scores), self.width_factor
        weighted = self.confidence.weigh(features)
        squares = row_products(weighted, features)
        certain = np.zeros((n, n), dtype=np.bool_)
        last, above, below = np.arange(n), np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
        for first in range(0, n, SLAB):
            end = min(first + SLAB, n)
            far = surely_far(scores, squares, factor, first, end)
            products = weighted[first:end] @ features[first:far].T
            mark_certain(scores, squares, products, factor, first, certain, above, below, last)
        return certain, last, above, below

    def _draws(self, query: Query, rng: np.random.Generator, n_draws: int) -> list[Ints]:
        if self.within_block == "score":  # ties are sorted by the random numbers
            return super()._draws(query, rng, n_draws)
        features = self._in_unit(query.features)
        scores, lists = features @ self._weights(query), []
        by_score = (-scores).argsort()
        orders = self._certain_orders(features.take(by_score, axis=0), scores[by_score])
        for _ in range(n_draws):
            keys = rng.random(query.n_candidates)
            shuffled = np.argsort(keys) if self.within_block == "random" else _NO_ORDER
            _, draw = explore(*orders, keys, shuffled, WITHIN_BLOCK[self.within_block])
            lists.append(by_score[draw[: self.length]])
            if self.pairs == "independent":
                rng.random(len(lists[-1]))  # what its ranking would remember
        return lists

    def _log_probability(self, query: Query, shown: Ints) -> float:
        certain, block = self._kept_orders(query)
        return log_respecting(certain, block, shown)

    def next_probabilities(self, query: Query, lists: Ints, shown: Ints) -> Floats:
        return next_respecting(*self._kept_orders(query), lists, shown)

    def _kept_orders(self, query: Query) -> tuple[Bools, Ints]:
        """The orders (n, n) between documents that no draw reverses, and the blocks (n,) that come one by one."""
        features = self._in_unit(query.features)
        scores = features @ self._weights(query)
        if self.within_block == "score":
            return np.zeros((len(scores), len(scores)), dtype=np.bool_), tie_classes(scores)
        by_score = np.argsort(-scores)
        sorted_features = features.take(by_score, axis=0)
        certain, last, above, below = self._certain_orders(sorted_features, scores[by_score])
        no_keys = np.zeros(len(scores))
        sorted_block, _ = explore(certain, last, above, below, no_keys, _NO_ORDER, WITHIN_BLOCK["score"])
        block, row = np.empty_like(sorted_block), np.empty_like(by_score)
        block[by_score], row[by_score] = sorted_block, np.arange(len(by_score))
        if self.within_block == "random":
            return np.zeros_like(certain), block
        return certain[np.ix_(row, row)], block

    def memory(
        self, query: Query, belief: Belief, shown: Ints, rng: np.random.Generator
    ) -> dict[str, NDArray[np.generic]]:
        return {"keys": rng.random(len(shown))} if self.pairs == "independent" else {}

    def _update(self, ranking: Ranking, clicks: Bools) -> None:
        self._learn(ranking, clicks, preference_rows(ranking.features, clicks, self._keys(ranking)))

    def _update_graded(self, ranking: Ranking, grades: Ints) -> None:
        self._learn(ranking, grades, graded_rows(ranking.features, grades, self._keys(ranking)))

    def _keys(self, ranking: Ranking) -> Floats | None:
        keys = ranking.memory.get("keys")
        return None if keys is None else np.asarray(keys, dtype=np.float64)

    def _learn(self, ranking: Ranking, grades: Bools | Ints, rows: Floats) -> None:
        """Learn preferences (m, d) that a ranking's feedback reveals; each makes the model surer by what it weighs."""
        if len(rows) == 0:
            return
        if self._unit is None:
            self._unit = unit_of(np.square(rows).mean(axis=0))
        clicks = np.asarray(grades, dtype=np.bool_)
        n_examined = examined(clicks)
        weight, documents = matching_weight(grades, n_examined), ranking.features[:n_examined]
        new = self.seen_documents.note(documents)
        rows, documents = self._in_unit(rows), self._in_unit(documents)
        theta = self.model.theta_of_new if np.count_nonzero(new) == n_examined else self.model.theta
        self.calibration.check(documents @ theta, clicks[:n_examined], new, weight=weight)
        if self.pairs != "averaged":
            weight = 1.0
        self.model.add(rows, weight)
        seen = rows
        if grades.dtype == np.bool_ and len(rows) >= MANY * n_examined:
            seen = scatter_rows(documents, clicks[:n_examined])
        self.confidence.add(seen if weight == 1.0 else seen * np.sqrt(weight))
        self._n_pairs += weight * len(rows)
        if self.regularization == "evidence" and self._n_pairs >= self._due:
            self.confidence.regularize(self.model.follow_evidence())
            self._due = self._n_pairs + max(PAUSE, self._n_pairs / 4.0, self.n_features / 2.0)

    def _score(self, features: Floats) -> Floats:
        return np.asarray(self._in_unit(features) @ self.model.theta_of_new)

    def linear_model(self) -> Floats:
        return self._in_unit(self.model.theta)

    def click_log_odds(self) -> float:
        return self.calibration.all.value

    def reliability(self) -> Reliability | None:
        return self.calibration.reliability() if self.certainty == "checked" else None

    def _take_over(self, before: PairRank, remap: Remap) -> None:
        if self.regularization == "evidence":
            ridge = before.model.ridge_of(remap)
            self.model.start_from(ridge)
            self.confidence.start_from(ridge)
        self.calibration.restore(before.calibration.state())
        self.seen_documents.take_over(before.seen_documents, remap)
        self._n_pairs, self._due = before._n_pairs, before._due
        if self._unit is None:
            self._unit = before._unit
        kept = replace(remap, factors=remap.factors * (before.unit / self.unit))
        self.model.take_over(before.model, kept)
        self.confidence.take_over(before.confidence, kept)

    def _state(self) -> State:
        own: State = {f"model.{key}": value for key, value in self.model.state().items()}
        own.update({f"confidence.{key}": value for key, value in self.confidence.state().items()})
        own.update({f"calibration.{key}": value for key, value in self.calibration.state().items()})
        own.update({f"seen_documents.{key}": value for key, value in self.seen_documents.state().items()})
        own["pairs"] = np.array([self._n_pairs, self._due])
        own["unit"] = np.array(0.0 if self._unit is None else self._unit)
        return own

    def _restore(self, arrays: State) -> None:
        self.model.restore({key[6:]: value for key, value in arrays.items() if key.startswith("model.")})
        self.confidence.restore({key[11:]: value for key, value in arrays.items() if key.startswith("confidence.")})
        self.calibration.restore({key[12:]: value for key, value in arrays.items() if key.startswith("calibration.")})
        self.seen_documents.restore(
            {
                key.removeprefix("seen_documents."): value
                for key, value in arrays.items()
                if key.startswith("seen_documents.")
            }
        )
        self._n_pairs, self._due = (float(number) for number in arrays["pairs"])
        self._unit = float(arrays["unit"]) or None

    def fits(self, key: str, value: NDArray[np.generic], expected: NDArray[np.generic]) -> bool:
        if key in ("model.rows", "model.weights", "model.margins", "confidence.waiting", "confidence.counts"):
            too_long = key.startswith("model.") and self.history == "bounded" and len(value) > self.window
            return value.shape[1:] == expected.shape[1:] and value.dtype == expected.dtype and not too_long
        return super().fits(key, value, expected)
