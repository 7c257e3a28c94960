"""The cascade user: reads from the top and leaves with the first click."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from fairexp.arrays import Floats, Ints
from fairexp.lab.users.base import User, Visit, check_probabilities
from fairexp.lab.users.dependent import walk_down
from fairexp.randomness import Seed


class Cascade(User):
    """Reads from the top, clicks with `attraction[grade]` and leaves after the first click.

    Craswell, Zoeter, Taylor and Ramsey, "An experimental comparison of click position-bias models", WSDM 2008.

    >>> visit = Cascade([0.0, 1.0], seed=0).visit_many([[0, 1, 1]])
    >>> visit.clicks.tolist(), visit.examined.tolist()
    ([[False, True, False]], [[True, True, False]])
    """

    def __init__(self, attraction: ArrayLike, *, seed: Seed = None) -> None:
        self.attraction: Floats = check_probabilities("attraction", attraction)
        super().__init__(len(self.attraction), seed=seed)

    def _visit(self, grades: Ints, coins: Floats) -> Visit:
        always = np.ones(self.n_grades)
        return walk_down(grades, self.attraction, always, coins, only_after_click=True)
