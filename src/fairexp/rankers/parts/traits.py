"""What a ranker is, as its class says of itself: nothing of this is guessed from a name."""

from __future__ import annotations

from typing import Literal, NamedTuple

from fairexp.arrays import Floats
from fairexp.measures import Measure


class TradeOff(NamedTuple):
    """The `parameter` that weighs fairness against relevance, and values to compare it by (`sweep`)."""

    parameter: str
    sweep: tuple[float, ...]


class Traits:
    """What others may ask of a ranker's class; each sets those in which it differs."""

    scores_unseen: bool = True
    """Whether `score` works on documents outside the stream that the ranker serves."""

    keeps_history: bool = False
    """Whether memory grows with the number of rounds."""

    keeps_account: bool = False
    """Whether it keeps an account of the exposure that each group has had: whether it is fair to groups."""

    exposure: Floats | None = None
    """The attention by position (k,) that it reckons with, where it does."""

    keeps_tolerance: bool = False
    """Whether it has a tolerance for unfairness, and says of each ranking whether that was met (`qualified`)."""

    learns_by_increments: bool = False
    """Whether clicks on one ranking may be learned in parts, each part without the positions learned before."""

    keeps_pins: bool = False
    """Whether it leaves documents where a query has pinned them."""

    uses_grades: bool = False
    """Whether it can use how much clicks were worth; others take a click for a click."""

    needs_query_id: bool = False
    """Whether a query must have an id, because something is known or learned of each query by itself."""

    relative_cost: float = 1.0
    """About how much processor time a round takes with 136 features, where a linear ranker's takes 1."""

    trade_off: TradeOff | None = None
    """The parameter that weighs fairness against relevance, where there is one."""

    fair_to: str = ""
    """Of a fair ranker: to whom it is fair (groups or items), by what (exposure or impact), per query or in total."""

    needs: str = ""
    """Of a fair ranker: what must be known beforehand."""

    own_measure: Measure | None = None
    """Of a fair ranker: the measure of what it is fair to."""

    rescaling: Literal["affine", "factor", "none"] = "affine"
    """What may be done to features so that they are of one size: shift and scale them, only scale them (where the
    model depends on where 0 is), or nothing (where weights are given in the features' own units, or where units do not
    matter)."""
