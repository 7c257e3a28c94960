"""The position-based user: whether a position is examined depends on nothing but the position."""

from __future__ import annotations

from numpy.typing import ArrayLike

from fairexp.arrays import Floats, Ints
from fairexp.errors import ArgumentError
from fairexp.lab.users.base import User, Visit, check_probabilities
from fairexp.randomness import Seed


class PositionBased(User):
    """Examines position p with `examination[p]` and clicks what was examined with `attraction[grade]`.

    Craswell, Zoeter, Taylor and Ramsey, "An experimental comparison of click position-bias models", WSDM 2008.

    >>> user = PositionBased([1.0, 0.0], [0.0, 1.0], seed=0)
    >>> user.visit_many([[1, 1], [0, 1]]).clicks.tolist()
    [[True, False], [False, False]]
    """

    def __init__(self, examination: ArrayLike, attraction: ArrayLike, *, seed: Seed = None) -> None:
        self.examination: Floats = check_probabilities("examination", examination)
        self.attraction: Floats = check_probabilities("attraction", attraction)
        super().__init__(len(self.attraction), seed=seed)

    def _visit(self, grades: Ints, coins: Floats) -> Visit:
        length = grades.shape[1]
        examined = coins[:, 1] < self.examination[:length]
        clicks = examined & (coins[:, 0] < self.attraction[grades])
        return Visit(clicks, examined)

    def _coins(self, n_sessions: int, length: int) -> Floats:
        # Refused before any coin is tossed, so that a refused visit leaves the stream as it was.
        if length > len(self.examination):
            raise ArgumentError(
                "ranking",
                f"{length} shown documents",
                f"at most {len(self.examination)}, the positions that the user's examination covers",
                "Give PositionBased a longer examination curve.",
            )
        return super()._coins(n_sessions, length)
