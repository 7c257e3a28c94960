"""FairSwap, the search of the FairExp paper: every fair template by itself, met by moving documents between blocks.

It is here to be compared with `best_ranking`, which takes all templates at once: see docs/paper.md.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from fairexp.arrays import Bools, Bytes, Floats, Ints
from fairexp.errors import ArgumentError
from fairexp.fairness.ledger import pair_gaps, within
from fairexp.fairness.search import BestRanking, Demand, Rules, outcome_of
from fairexp.types import Belief

MAX_TEMPLATES = 1 << 16
"""Most templates that are tried in a round; the paper's two groups and ten positions have 1,024."""


def check_templates(n_groups: int, length: int) -> None:
    """Raise an `ArgumentError` where there are too many templates to try each of them."""
    if n_groups**length > MAX_TEMPLATES:
        given = f"'fairswap' for {n_groups} groups and {length} positions, which have {n_groups**length:,} templates"
        raise ArgumentError("search", given, f"at most {MAX_TEMPLATES:,} templates", "Use search='exact'.")


def fair_swap(belief: Belief, demand: Demand, exposure: Floats, rules: Rules, keys: Floats) -> BestRanking:
    """The ranking of least added regret among those that FairSwap makes for each template within the tolerance.

    If none is within the tolerance, the least unfair templates compete. Equals are settled by the template: the one
    closest to the draw, or with `ties` "fairest" the one of the smallest gap. `keys` (n,) are random; they shuffle
    blocks that documents were moved into.

    The paper's figure has blocks {x1, x2} and {x3, x4, x5}, and a template of groups A, A, B, A, B. One of x3 and x4
    is moved up past x1 and x2, which reverses two certain orders:

    >>> draw, block = np.array([0, 1, 3, 2, 4]), np.array([0, 0, 1, 1, 1])
    >>> belief = Belief(np.array([2.0, 2.0, 1.0, 1.0, 1.0]), draw, block, block[:, None] < block)
    >>> demand = Demand(np.array([0, 1, 0, 0, 1]), spent=np.array([0.0, 21.0]), shares=np.ones(2), tolerance=0.0)
    >>> best = fair_swap(belief, demand, np.array([16.0, 8.0, 4.0, 2.0, 1.0]), Rules("full", "draw", 1),
    ...                  keys=np.array([0.9, 0.5, 0.5, 0.1, 0.5]))
    >>> [f"x{document + 1}" for document in best.shown], best.added_regret
    (['x4', 'x1', 'x2', 'x3', 'x5'], 2)
    """
    place = np.empty(len(belief.draw), dtype=np.int64)
    place[belief.draw] = np.arange(len(place))
    blocks = Blocks(np.lexsort((place, belief.block)), belief.block, demand.groups, len(demand.shares), keys)
    regret = Regret(blocks.candidates(len(exposure)), belief.costs, place, displayed_only=rules.displayed_only)
    shown, least = [], None
    for template in _fair_templates(blocks, demand, exposure, place, fairest=rules.fairest):
        ranking = blocks.ranking(template)
        cost = regret.of(ranking)
        if least is None or cost < least:
            shown, least = ranking, cost
            if cost == 0:
                break
    assert least is not None
    documents = np.array(shown, dtype=np.int64)
    outcome = outcome_of(documents, demand, 0.0, exposure)
    return BestRanking(documents, least, exact=False, regret_bound=0, outcomes=(outcome,))


class Blocks:
    """Documents in blocks, best first, of which templates take what they need.

    `order` (n,) has the documents block by block, `block` (n,) and `groups` (n,) say where each belongs. A group's
    documents leave in this order, whichever block asks for them: those that a block's segment has no room for are a
    new block before the next, and those that it lacks come from the nearest block below.
    """

    def __init__(self, order: Ints, block: Ints, groups: Ints, n_groups: int, keys: Floats) -> None:
        self._keys: list[float] = keys.tolist()
        self.queues: list[list[int]] = [order[groups[order] == group].tolist() for group in range(n_groups)]
        numbers = [block[queue].tolist() for queue in self.queues]
        self._ends = [[bisect_right(each, number) for each in numbers] for number in np.unique(block).tolist()]

    def candidates(self, length: int) -> list[int]:
        """The documents that a list of this length may show."""
        return [document for queue in self.queues for document in queue[:length]]

    def ranking(self, template: Sequence[int]) -> list[int]:
        """FairSwap's ranking for a template (m,), segment by segment."""
        shown: list[int] = []
        gone = [0] * len(self.queues)
        for ends in self._ends:
            while len(shown) < len(template):
                left = [max(end - number, 0) for end, number in zip(ends, gone, strict=True)]
                segment = template[len(shown) : len(shown) + sum(left)]
                if not segment:
                    break
                shown += self._filled(segment, gone, left)
        return shown

    def _filled(self, segment: Sequence[int], gone: list[int], left: list[int]) -> list[int]:
        """The documents of one segment, whose block has `left` (G,) of each group; `gone` (G,) goes on."""
        taken = []
        for group, queue in enumerate(self.queues):
            first = gone[group]
            gone[group] += segment.count(group)
            taken.append(queue[first : gone[group]])
        if any(len(documents) > own for documents, own in zip(taken, left, strict=True)):
            taken = [sorted(documents, key=self._keys.__getitem__) for documents in taken]
        following = [iter(documents) for documents in taken]
        return [next(following[group]) for group in segment]


class Regret:
    """What rankings of some `candidates` add in regret; `place` (n,) is each document's in the draw."""

    def __init__(
        self, candidates: list[int], costs: tuple[Bools | Bytes, Ints], place: Ints, *, displayed_only: bool
    ) -> None:
        relation, row = costs
        earlier = place[:, None] < place[candidates]
        reversing = np.where(earlier, relation[np.ix_(row, row[candidates])], 0).astype(np.int64)
        behind = np.zeros(len(candidates), dtype=np.int64) if displayed_only else reversing.sum(axis=0)
        among = reversing[candidates]
        self._number = {document: number for number, document in enumerate(candidates)}
        self._behind: list[int] = behind.tolist()
        # By what showing the second below the first changes the sum: it was counted as reversed, or is to be.
        self._below: list[list[int]] = (among.T if displayed_only else -among).tolist()

    def of(self, ranking: list[int]) -> int:
        """The added regret of a ranking (m,)."""
        numbers = [self._number[document] for document in ranking]
        total = sum(self._behind[number] for number in numbers)
        for position, number in enumerate(numbers):
            below = self._below[number]
            total += sum(below[other] for other in numbers[position + 1 :])
        return total


def _fair_templates(blocks: Blocks, demand: Demand, exposure: Floats, place: Ints, *, fairest: bool) -> list[list[int]]:
    """The templates (m,) within the tolerance, or the least unfair ones; of equals the one to prefer comes first."""
    n_groups, length = len(demand.shares), len(exposure)
    words, earlier, amounts = _words(exposure.tobytes(), n_groups)
    sizes = np.array([len(queue) for queue in blocks.queues])
    last = np.stack([(words == group).sum(axis=1) for group in range(n_groups)], axis=1)
    possible = np.flatnonzero((last <= sizes).all(axis=1))
    gaps = np.abs(np.triu(pair_gaps(demand.spent + amounts[possible], demand.shares), 1)).max(axis=(1, 2))
    limit = demand.tolerance if within(float(gaps.min()), demand.tolerance) else float(gaps.min())
    fair = np.array([within(gap, limit) for gap in gaps.tolist()])
    chosen, gaps = possible[fair], gaps[fair]
    places = np.zeros((n_groups, length), dtype=np.int64)
    for group, queue in enumerate(blocks.queues):
        drawn = np.sort(place[queue])[:length]
        places[group, : len(drawn)] = drawn
    closeness = places[words[chosen], earlier[chosen]]
    preferred = np.lexsort([*closeness.T[::-1], gaps.round(9)] if fairest else [*closeness.T[::-1]])
    templates: list[list[int]] = words[chosen[preferred]].tolist()
    return templates


@lru_cache(maxsize=16)
def _words(exposure: bytes, n_groups: int) -> tuple[Ints, Ints, Floats]:
    """All templates (T, m), how often each position's group stands above it, and the exposure (T, G) of groups."""
    curve = np.frombuffer(exposure)
    words = np.indices((n_groups,) * len(curve)).reshape(len(curve), -1).T
    members = words[:, :, None] == np.arange(n_groups)
    earlier = np.take_along_axis(members.cumsum(axis=1), words[:, :, None], axis=2)[:, :, 0] - 1
    return words, earlier, np.einsum("tmg,m->tg", members, curve)
