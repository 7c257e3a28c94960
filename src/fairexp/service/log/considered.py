"""The documents that an explanation speaks of, kept with each ranking."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fairexp.arrays import Bools, Ints
from fairexp.types import Belief, Ranking

Floats32 = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class Considered:
    """The documents that an explanation speaks of: all that the host's draw has down to the last one shown.

    In the order of the draw: `ids`, `groups` (c,) or `labels` (c,) by attribute, `scores` (c,) and `block` (c,).
    `above` (m, c) and `below` (m, c) say which of them certainly belong above or below each shown document.
    """

    ids: list[str]
    groups: Ints | None
    scores: Floats32
    block: Ints
    above: Bools
    below: Bools
    labels: dict[str, Ints] = field(default_factory=dict)

    def at(self, place: Ints) -> Considered:
        """Only those at `place` (k,), in its order."""
        return Considered(
            ids=[self.ids[each] for each in place],
            groups=None if self.groups is None else self.groups[place],
            scores=self.scores[place],
            block=self.block[place],
            above=self.above[:, place],
            below=self.below[:, place],
            labels={name: values[place] for name, values in self.labels.items()},
        )


def considered(
    belief: Belief | None, ids: list[str], groups: Ints | None, labels: dict[str, Ints], ranking: Ranking
) -> tuple[Ints, Considered]:
    """Which documents to remember for an explanation, and the place (m,) of each shown one among them."""
    shown = ranking.shown
    if belief is None:
        kept, certain = shown, np.zeros((len(shown), len(shown)), dtype=np.bool_)
        scores, block = ranking.scores, np.zeros(len(shown), dtype=np.int64)
        above = below = certain
    else:
        place_in_draw = np.empty(len(ids), dtype=np.int64)
        place_in_draw[belief.draw] = np.arange(len(ids))
        relation, row = belief.relation
        better = relation[:, row[shown]][row]
        wanted = place_in_draw <= place_in_draw[shown].max()
        wanted |= better.any(axis=1)  # a draw that ignores certain orders may leave such a document for later
        kept = belief.draw[wanted[belief.draw]]
        scores, block = belief.scores[kept], belief.block[kept]
        above, below = better[kept].T, relation[row[shown]][:, row[kept]]
    where = np.empty(len(ids), dtype=np.int64)
    where[kept] = np.arange(len(kept))
    return where[shown], Considered(
        ids=[ids[index] for index in kept],
        groups=None if groups is None else groups[kept],
        scores=scores.astype(np.float32),
        block=block,
        above=above,
        below=below,
        labels={name: values[kept] for name, values in labels.items()},
    )
