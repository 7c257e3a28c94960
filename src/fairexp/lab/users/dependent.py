"""The dependent click model: reads from the top, may leave after a click, may click again."""

from __future__ import annotations

from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

from fairexp.arrays import Floats, Ints
from fairexp.errors import ArgumentError
from fairexp.kernels.data.clicks import dependent_visits
from fairexp.lab.users.base import User, Visit, check_probabilities
from fairexp.randomness import Seed
from fairexp.validation import check_choice, check_number

STOP_AFTER = ("click", "any")

_Tables = tuple[tuple[float, ...], tuple[float, ...]]

PRESETS: MappingProxyType[tuple[str, int], _Tables] = MappingProxyType(
    {
        ("perfect", 5): ((0.0, 0.2, 0.4, 0.8, 1.0), (0.0,) * 5),
        ("navigational", 5): ((0.05, 0.3, 0.5, 0.7, 0.95), (0.2, 0.3, 0.5, 0.7, 0.9)),
        ("informational", 5): ((0.4, 0.6, 0.7, 0.8, 0.9), (0.1, 0.2, 0.3, 0.4, 0.5)),
        ("perfect", 3): ((0.0, 0.5, 1.0), (0.0,) * 3),
        ("navigational", 3): ((0.05, 0.5, 0.95), (0.2, 0.5, 0.9)),
        ("informational", 3): ((0.4, 0.7, 0.9), (0.1, 0.3, 0.5)),
        ("perfect", 2): ((0.0, 1.0), (0.0,) * 2),
        ("navigational", 2): ((0.05, 0.95), (0.2, 0.9)),
        ("informational", 2): ((0.4, 0.9), (0.1, 0.5)),
    }
)
"""(click, stop) probabilities per grade, by the name of the user and the number of grades."""

PRESET_NAMES = ("perfect", "navigational", "informational")


class DependentClickModel(User):
    """Reads from the top; clicks with `click[grade]`; then may leave with `stop[grade]`, and else reads on.

    With `stop_after="click"` only a click can end the visit (Guo, Liu and Wang, WSDM 2009). With
    `stop_after="any"` the user may leave after every document that was read, clicked or not: several published
    simulators of online learning to rank do that, and it makes attention fall much faster with the position.

    >>> user = DependentClickModel([0.0, 1.0], [0.0, 1.0], seed=0)
    >>> user.visit_many([[0, 1, 1]]).examined.tolist()
    [[True, True, False]]
    """

    def __init__(self, click: ArrayLike, stop: ArrayLike, *, stop_after: str = "click", seed: Seed = None) -> None:
        self.click: Floats = check_probabilities("click", click)
        self.stop: Floats = check_probabilities("stop", stop, length=len(self.click))
        self.stop_after = check_choice("stop_after", stop_after, STOP_AFTER)
        super().__init__(len(self.click), seed=seed)

    def _visit(self, grades: Ints, coins: Floats) -> Visit:
        return walk_down(grades, self.click, self.stop, coins, only_after_click=self.stop_after == "click")


def dependent_clicks(
    name: str, *, n_grades: int = 5, stop_after: str = "click", seed: Seed = None
) -> DependentClickModel:
    """The usual users of the literature: "perfect", "navigational" or "informational", for 5, 3 or 2 grades.

    The probabilities are those of Hofmann et al. (Information Retrieval 16, 2013), as used throughout online
    learning to rank; see `PRESETS`.

    >>> dependent_clicks("navigational", n_grades=3).click.tolist()
    [0.05, 0.5, 0.95]
    """
    check_choice("name", name, PRESET_NAMES)
    if not isinstance(n_grades, int | np.integer) or (name, n_grades) not in PRESETS:
        raise ArgumentError(
            "n_grades", repr(n_grades), "5, 3 or 2", "For other data give DependentClickModel tables of your own."
        )
    click, stop = PRESETS[name, n_grades]
    return DependentClickModel(click, stop, stop_after=stop_after, seed=seed)


def preset_grades(max_grade: int) -> int:
    """The smallest number of grades that has presets and covers grades up to `max_grade`.

    >>> preset_grades(2)
    3
    """
    check_number("max_grade", max_grade)
    for n_grades in (2, 3, 5):
        if max_grade < n_grades:
            return n_grades
    raise ArgumentError(
        "max_grade", max_grade, "at most 4", "The presets know 5 grades; give DependentClickModel tables of your own."
    )


def walk_down(grades: Ints, click: Floats, stop: Floats, coins: Floats, *, only_after_click: bool) -> Visit:
    """Sessions (S, m) of readers that start at the top and leave as `stop` has it."""
    clicks = np.zeros(grades.shape, dtype=np.bool_)
    examined = np.zeros(grades.shape, dtype=np.bool_)
    grades = np.ascontiguousarray(grades)
    dependent_visits(grades, click, stop, only_after_click, np.ascontiguousarray(coins), clicks, examined)
    return Visit(clicks, examined)
