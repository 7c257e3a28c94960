"""Short lists: templates as covers of the positions by one subset for each group.

What groups gain, and what each pair of them costs, depends on their subsets alone. So templates are put together from
subsets, group by group, down to the last two, which share what is left. Next comes the group with the fewest subsets
that fit what it may gain, or else the topmost free position, where its owners have fewer. This is at its best where a
walk over positions is at its worst: many groups, few fair templates.
"""

import cython
import numpy as np
from cython.cimports.fairexp.kernels.fairness.gaps import largest_gap, slack
from cython.cimports.fairexp.kernels.fairness.rounds import Corridors, Found
from cython.cimports.libc.math import fabs
from cython.cimports.libc.stdint import int64_t

CHEAPEST, FAIREST_OF_THOSE = 0, 1
"""What is searched for: the least cost, of equals the one closest to the draw; or of equals the least gap, and then the
draw."""

LOOKS = 3.0
"""Looks at subsets that count as one step of a walk, which takes about the time of three."""

BRANCH = 2
"""Effort of trying a subset before the last two groups, in looks at one of theirs."""


@cython.final
@cython.cclass
class Cover:
    """A cover in the making: whose turn it is at each level, and the best cover so far.

    By level (G,): the group `owner` whose turn it is, which of the listed subsets to try from `at` up to `end`, which
    position goes to the owner besides (as a mask, or 0 where it is one group's turn alone), the positions that are
    `free`, what the groups above cost each other in `total`, and what groups may gain, from `low` to `high` (G, G). By
    group (G,): its `mask`, and whether it is `used`. No template that costs more than `least` is wanted.
    """

    def __init__(self, round, subsets):
        self.round, self.subsets, self.goal = round, subsets, Corridors(round)
        k, n_groups = self.round.k, self.round.n_groups
        self.found = Found(k)
        levels = np.zeros((8, n_groups), dtype=np.int64)
        self.owner, self.at, self.end, self.besides, self.free, self.total, self.mask, self.gone = levels
        self.low, self.high = np.zeros((2, n_groups, n_groups))
        self.used, self.template = np.zeros(n_groups, dtype=np.uint8), np.zeros(k, dtype=np.int64)

    def clear(self):
        """All positions are free, it is nobody's turn, and what groups may gain leads into the goal's corridors."""
        self.used[:] = 0
        for g in range(self.round.n_groups):
            self.low[0, g] = max(-slack, self.goal.lower[g] - self.round.spent[g])
            self.high[0, g] = self.goal.upper[g] - self.round.spent[g]
        self.free[0], self.total[0] = (1 << self.round.k) - 1, 0
        self.goal.E[:] = self.round.spent

    def that_fit(self, level, g, besides):
        """Where the subsets of the free positions stand that, with `besides`, fit what g may gain."""
        more = self.subsets.worth[besides]
        return self.subsets.between(self.free[level] ^ besides, self.low[level, g] - more, self.high[level, g] - more)

    def begin_level(self, level):
        """Let the group take its turn for which the fewest subsets fit, or one by one all that may own the top."""
        free, start = self.free[level], self.subsets.start
        top = free & -free
        fewest: int64_t = start[free + 1] - start[free] + 1
        owners: int64_t = 0
        self.besides[level] = 0
        for g in range(self.round.n_groups):
            if not self.used[g]:
                first, last = self.that_fit(level, g, 0)
                if last - first < fewest:
                    fewest = last - first
                    self.owner[level], self.at[level], self.end[level] = g, first, last
                first, last = self.that_fit(level, g, top)
                owners += last - first
        if owners < fewest:
            self.besides[level], self.owner[level], self.at[level], self.end[level] = top, -1, 0, 0
        else:
            self.used[self.owner[level]] = True

    def next_owner(self, level):
        """Let the next group take its turn at the topmost position; whether there is one."""
        g: int64_t = self.owner[level]
        if g >= 0:
            self.used[g] = False
        if self.besides[level] == 0:
            return False
        for h in range(g + 1, self.round.n_groups):
            if not self.used[h]:
                first, last = self.that_fit(level, h, self.besides[level])
                if first < last:
                    self.owner[level], self.at[level], self.end[level], self.used[h] = h, first, last, True
                    return True
        return False

    def narrow(self, level, g, gained, worth):
        """Put into the next level what the unused groups may gain once g has gained so much.

        Returns whether they can share positions of that `worth` so.
        """
        spent, w, least, most = self.round.spent, self.round.w, 0.0, 0.0
        low: cython.double
        high: cython.double
        for h in range(self.round.n_groups):
            if self.used[h]:
                continue
            ratio = w[h] / w[g]
            # |E_h - r E_g| <= x where h is the lower number, |E_g - E_h / r| <= x where it is the higher.
            far = (self.goal.limit if h < g else self.goal.limit * ratio) + slack
            middle = ratio * (spent[g] + gained) - spent[h]
            low, high = max(self.low[level, h], middle - far), min(self.high[level, h], middle + far)
            self.low[level + 1, h], self.high[level + 1, h] = low, high
            if low > high or high < 0.0:
                return False
            least += max(low, 0.0)
            most += min(high, worth)
        if least > worth + slack or worth > most + slack:
            return False
        for h in range(self.round.n_groups):
            if not self.used[h]:
                # The others take so much of it at least, and at most.
                low, high = self.low[level + 1, h], self.high[level + 1, h]
                self.low[level + 1, h] = max(low, worth - (most - min(high, worth)) - slack)
                self.high[level + 1, h] = min(high, worth - (least - max(low, 0.0)) + slack)
        return True

    def pair_cost(self, g, mask, h, other):
        """What groups g and h cost each other if they take these positions."""
        price: int64_t = 0
        i: int64_t = 0
        rest: int64_t = mask
        while rest:
            first = rest & -rest
            price += self.round.cost[g, i, h, self.subsets.n_positions[other & (first - 1)]]
            i += 1
            rest ^= first
        i, rest = 0, other
        while rest:
            first = rest & -rest
            price += self.round.cost[h, i, g, self.subsets.n_positions[mask & (first - 1)]]
            i += 1
            rest ^= first
        return price

    def price_among(self, g):
        """What group g and the other used ones cost each other."""
        price: int64_t = 0
        for h in range(self.round.n_groups):
            if self.used[h] and h != g:
                price += self.pair_cost(g, self.mask[g], h, self.mask[h])
        return price

    def shares_of_two(self, level, a, b, left):
        """Where the subsets of the positions that are left stand that a may take and leave the others to b."""
        spent, worth = self.round.spent, self.subsets.worth[left]
        ratio = self.round.w[a] / self.round.w[b]
        middle = ratio * (spent[b] + worth) - spent[a]
        low = max(self.low[level, a], worth - self.high[level, b], (middle - self.goal.limit) / (1.0 + ratio))
        high = min(self.high[level, a], worth - self.low[level, b], (middle + self.goal.limit) / (1.0 + ratio))
        return self.subsets.between(left, low - slack, high + slack)

    def price_of_two(self, a, b):
        """What the last two groups and all others cost each other."""
        price = self.pair_cost(a, self.mask[a], b, self.mask[b])
        for f in range(self.round.n_groups):
            if self.used[f]:
                price += self.pair_cost(a, self.mask[a], f, self.mask[f])
                price += self.pair_cost(b, self.mask[b], f, self.mask[f])
        return price

    def share_rest(self, level, left, price):
        """Let the last two groups share the positions that are left, in every fair way."""
        spent, masks, worth, count = self.round.spent, self.subsets.masks, self.subsets.worth, self.subsets.n_positions
        a: int64_t = 0
        while self.used[a]:
            a += 1
        b: int64_t = a + 1
        while self.used[b]:
            b += 1
        first, last = self.shares_of_two(level, a, b, left)
        self.looks += last - first
        for at in range(first, last):
            one: int64_t = masks[at]
            other: int64_t = left & ~one
            if count[one] > self.round.size[a] or count[other] > self.round.size[b]:
                continue
            self.mask[a], self.mask[b] = one, other
            now: int64_t = price + self.price_of_two(a, b)
            if now > self.least:
                continue
            self.goal.E[a], self.goal.E[b] = spent[a] + worth[one], spent[b] + worth[other]
            gap = largest_gap(self.goal.E, self.round.w)
            if gap > self.goal.limit + slack:
                continue
            self.write_template()
            if not self.found.found or self.is_better(now, gap):
                self.found.found, self.found.gap = True, gap
                self.found.template[:] = self.template
                self.least = now

    def write_template(self):
        """Put the groups' positions into the template (k,)."""
        for p in range(self.round.k):
            for g in range(self.round.n_groups):
                if (self.mask[g] >> p) & 1:
                    self.template[p] = g

    def is_better(self, price, gap):
        """Whether a template that costs no more than the best so far, and is fair, takes its place."""
        if price < self.least:
            return True
        if self.rule == FAIREST_OF_THOSE and fabs(gap - self.found.gap) > slack:
            return gap < self.found.gap
        return self.comes_before()

    def comes_before(self):
        """Whether the template is closer to the draw than the best so far, from the top down."""
        self.gone[:] = 0
        for p in range(self.round.k):
            one, other = self.template[p], self.found.template[p]
            if one != other:
                return self.round.place[one, self.gone[one]] < self.round.place[other, self.gone[other]]
            self.gone[one] += 1
        return False

    def step(self, level):
        """Try the next subset of the group whose turn it is; whether that leads to another level."""
        g, worth = self.owner[level], self.subsets.worth
        m: int64_t = self.subsets.masks[self.at[level]] | self.besides[level]
        self.at[level] += 1
        self.looks += BRANCH
        left, gained = self.free[level] & ~m, worth[m]
        if self.subsets.n_positions[m] > self.round.size[g]:
            return False
        if not self.low[level, g] <= gained <= self.high[level, g]:
            return False
        self.mask[g], self.goal.E[g] = m, self.round.spent[g] + gained
        if not self.narrow(level, g, gained, worth[left]):
            return False
        price: int64_t = self.total[level] + self.price_among(g)
        if price > self.least:
            return False
        if level < self.round.n_groups - 3:
            self.free[level + 1], self.total[level + 1] = left, price
            return True
        self.share_rest(level + 1, left, price)
        return False

    def search(self, limit, budget, rule, max_looks):
        """The best template whose gap is at most `limit` and whose cost is at most `budget`, by a rule.

        More than `max_looks` at subsets end the search with the best so far.
        """
        self.rule, self.least, self.looks = rule, budget, 0
        self.found.forget()
        self.found.gap = limit
        self.goal.narrow(limit)
        self.clear()
        level: int64_t = 0
        if self.round.n_groups == 2:
            self.share_rest(0, self.free[0], 0)
            level = -1
        else:
            self.begin_level(level)
        while level >= 0 and self.looks <= max_looks and self.goal.limit >= 0.0:
            if self.at[level] < self.end[level]:
                if self.step(level):
                    level += 1
                    self.begin_level(level)
            elif not self.next_owner(level):
                level -= 1
        self.found.nodes = self.looks
        self.found.cost = self.round.price(self.found.template) if self.found.found else budget
