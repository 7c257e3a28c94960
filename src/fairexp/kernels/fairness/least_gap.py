"""The least gap that a list can have, whatever it costs: meet in the middle.

Gaps depend on the sums of exposure that groups collect, not on which documents are shown. So the last positions of a
list are put together from two words over classes. Words of the lower part stand in the order of their sums, and those
that fit a word of the upper part stand side by side. Both parts together are the whole list where its templates are
not too many: the least gap is then proven. A longer list is filled in many ways, each position by the class that needs
it most, give or take some noise, and evened out by small changes. Then words are looked for that follow its top.
"""

import cython
import numpy as np
from cython.cimports.fairexp.kernels.fairness.gaps import slack
from cython.cimports.libc.math import INFINITY, fabs
from cython.cimports.libc.stdint import int64_t, uint64_t

MOST_GROUPS = 10
"""Bounds look at all sets of up to so many groups, and of more at single groups and all but one."""

SEED = 0x1E3779B97F4A7C15
"""Times the number of a way to fill the top, what its chances begin with."""

FIRST, GROWTH = 1e-3, 1.3
"""The first limit within which the least gap is looked for, in parts of all exposure, and from one to the next."""

NOISE = 5.0
"""The most that noise adds to what a class needs, in parts of the position's exposure."""

SWEEPS, LITTLE = 20, 1e-6
"""Sweeps over a list to even it out, and the least that a change must gain, in squares of half a corridor."""

LOOKS = 200
"""Looks at words that take about the time of one step of a walk."""


@cython.final
@cython.cclass
class Words:
    """The words (N, L) over m classes for L positions with exposure P, with no more of a class than its size (m,).

    By word: its `classes`, the `count` (N, m) of each, and what columns `gain` (N, W). Of words that differ only in
    positions of equal exposure side by side there is one. Two of the columns are `keys`: words come in blocks of about
    sqrt(N) in the order of the first, each in the order of the second. Block b is of the words from `start[b]` up to
    `start[b + 1]`, and the first column gains from `low[b]` to `high[b]` there. By column: the `least` and the `most`
    that a word gains.
    """

    def __init__(self, P, column, n_columns, sizes, keys):
        n_classes = len(sizes)
        classes, count = np.zeros((1, 0), dtype=np.int64), np.zeros((1, n_classes), dtype=np.int64)
        for p in range(len(P)):
            last = np.tile(np.arange(n_classes), len(classes))
            classes = np.column_stack([np.repeat(classes, n_classes, axis=0), last])
            count = np.repeat(count, n_classes, axis=0)
            count[np.arange(len(last)), last] += 1
            kept = count[np.arange(len(last)), last] <= np.asarray(sizes)[last]
            if p > 0 and P[p] == P[p - 1]:
                kept &= classes[:, -2] <= last
            classes, count = classes[kept], count[kept]
        gain = np.zeros((len(classes), n_columns))
        for p in range(len(P)):
            for columns in np.asarray(column).T:
                np.add.at(gain, (np.arange(len(classes)), columns[classes[:, p]]), P[p])
        first, second = keys
        block = np.empty(len(classes), dtype=np.int64)
        size = int(np.ceil(np.sqrt(len(classes))))
        block[np.argsort(gain[:, first], kind="stable")] = np.arange(len(classes)) // size
        order = np.lexsort((gain[:, second], block))
        self.first, self.second = first, second
        self.classes, self.count, self.gain = np.ascontiguousarray(classes[order]), count[order], gain[order]
        self.start = np.append(np.arange(0, len(classes), size), len(classes))
        self.low = np.minimum.reduceat(gain[order, first], self.start[:-1])
        self.high = np.maximum.reduceat(gain[order, first], self.start[:-1])
        self.least, self.most = gain.min(axis=0), gain.max(axis=0)

    def first_at_least(self, begin, end, value):
        """Where among the words from `begin` to `end`, of one block, the first stands with a second key of so much."""
        while begin < end:
            middle = (begin + end) // 2
            if self.gain[middle, self.second] < value:
                begin = middle + 1
            else:
                end = middle
        return begin


@cython.final
@cython.cclass
class LeastGap:
    """The `template` (k,) of the least gaps found, demand by demand, each of at least its `bound` (C,).

    A demand within its tolerance is met, whatever its gap. The `upper` and the `lower` words are those of the last
    positions, below the top. By class (m,): how many are `gone` in the top. By column (W,): what is `charged` there,
    and between what it may end after an upper word, `low` and `high`. Positions `below` the top have so much exposure.
    """

    def __init__(self, round, owed, exchanges, upper, lower):
        self.round, self.owed, self.exchanges, self.upper, self.lower = round, owed, exchanges, upper, lower
        self.n_top = self.round.k - self.upper.classes.shape[1] - self.lower.classes.shape[1]
        self.template, self.list = np.zeros((2, self.round.k), dtype=np.int64)
        self.gap, self.bound = np.zeros((2, self.owed.n_demands))
        self.gone = np.zeros(self.round.n_groups, dtype=np.int64)
        self.weight, self.low, self.high = np.zeros((3, self.owed.n_columns))
        self.charged, self.inside = np.zeros(self.owed.n_columns), np.zeros(self.owed.n_columns, dtype=np.uint8)
        self.top_sums = np.concatenate([[0.0], np.cumsum(-np.sort(-np.asarray(self.round.P)))])

    def search(self, known, max_nodes):
        """Find the least gaps, beginning with a `known` template (k,).

        Small changes come first: they keep most of what is known. The effort is bounded, unless both parts are the
        whole list.
        """
        self.exchanges.begin(known)
        self.exchanges.improve(max_nodes)
        self.template[:] = self.exchanges.template
        self.max_looks = LOOKS * max_nodes
        for c in range(self.owed.n_demands):
            self.owed.narrow(c, INFINITY)
            self.bound[c] = self.least_possible(c)
        self.enter_gaps()
        for c in range(self.owed.n_demands):
            if not self.is_met(c):
                self.looks = 0
                self.lower_gap(c)
            if not self.is_met(c) and self.n_top == 0:
                self.bound[c] = self.gap[c] - slack
            self.owed.narrow(c, max(self.gap[c], self.owed.tolerance[c]))

    def enter_gaps(self):
        """Enter the gaps that the template leaves."""
        self.owed.book(self.template, self.round.P)
        for c in range(self.owed.n_demands):
            self.gap[c] = self.owed.gap(c)

    def is_met(self, c):
        """Whether demand c is within its tolerance."""
        return self.gap[c] <= self.owed.tolerance[c] + slack

    def lower_gap(self, c):
        """Lower the gap of demand c, with those before it within their limits."""
        number: int64_t = 0
        possible: cython.bint = self.bound[c] <= self.owed.tolerance[c] + slack
        while possible and self.n_top > 0 and self.looks < self.max_looks and not self.is_met(c):
            self.fill_top(c, number)
            self.seek(c, self.owed.tolerance[c])
            number += 1
        if not self.is_met(c):
            self.looks = 0
            self.fill_top(c, 0)
            self.seek_least(c)

    def seek_least(self, c):
        """Look for the pair of words with the least gap of demand c, within limits that rise from what is possible."""
        limit: cython.double = max(self.bound[c], self.owed.tolerance[c], FIRST * self.round.total)
        before: cython.double = self.gap[c]
        while limit < before and self.gap[c] == before:
            self.seek(c, limit)
            limit *= GROWTH
        if self.gap[c] == before:
            self.seek(c, before)

    def fill_top(self, c, number):
        """Fill the list in the way of this number, so that demand c and those before it may come within their limits.

        What is below the top is left to words.
        """
        self.chance = cython.cast(uint64_t, number + 1) * SEED
        self.noise = 0.0 if number == 0 else NOISE * self.draw()
        self.by_size = number & 1
        self.owed.narrow(c, max(self.owed.tolerance[c], self.bound[c]))
        self.gone[:] = 0
        self.owed.E[:] = self.owed.spent
        for p in range(self.round.k):
            a = self.choose(p)
            self.list[p] = a
            self.gone[a] += 1
            self.owed.add(a, self.round.P[p])
        self.even_out()
        for p in range(self.n_top, self.round.k):
            self.gone[self.list[p]] -= 1
            self.owed.add(self.list[p], -self.round.P[p])
        self.charged[:] = self.owed.E
        self.below = 0.0
        for p in range(self.n_top, self.round.k):
            self.below += self.round.P[p]

    def even_out(self):
        """Change the list for the better: positions exchange their classes, or one goes to another class."""
        for w in range(self.owed.n_columns):
            width = max(self.owed.upper[w] - self.owed.middle[w], slack)
            self.weight[w] = 1.0 / (width * width)
        changed: cython.bint = True
        sweeps: int64_t = 0
        while changed and sweeps < SWEEPS:
            changed = False
            sweeps += 1
            for p in range(self.round.k):
                for q in range(p):
                    one, other = self.list[p], self.list[q]
                    if one != other and self.would_even_out(one, other, self.round.P[p] - self.round.P[q]):
                        self.give(one, other, self.round.P[p] - self.round.P[q])
                        self.list[p], self.list[q] = other, one
                        changed = True
                for a in range(self.round.n_groups):
                    one = self.list[p]
                    if a != one and self.gone[a] < self.round.size[a] and self.would_even_out(one, a, self.round.P[p]):
                        self.give(one, a, self.round.P[p])
                        self.list[p] = a
                        self.gone[one] -= 1
                        self.gone[a] += 1
                        changed = True

    def would_even_out(self, one, other, amount):
        """Whether groups stand closer to the middle of their corridors, by squares, if one class gives to another."""
        change: cython.double = 0.0
        for c in range(self.owed.n_demands):
            w, v = self.owed.column[one, c], self.owed.column[other, c]
            if w != v:
                change += self.weight[w] * amount * (amount - 2.0 * (self.owed.E[w] - self.owed.middle[w]))
                change += self.weight[v] * amount * (amount + 2.0 * (self.owed.E[v] - self.owed.middle[v]))
        return change < -LITTLE

    def give(self, one, other, amount):
        """Let one class give so much exposure to another."""
        self.owed.add(one, -amount)
        self.owed.add(other, amount)

    def choose(self, p):
        """The class for position p: the one that needs it most."""
        chosen: int64_t = -1
        most: cython.double = -INFINITY
        for a in range(self.round.n_groups):
            if self.gone[a] < self.round.size[a]:
                need = self.need(a)
                if self.by_size:
                    need *= float(self.round.k - p) / (self.round.n_groups * (self.round.size[a] - self.gone[a]))
                need += self.noise * self.round.P[p] * self.draw()
                if need > most:
                    chosen, most = a, need
        return chosen

    def need(self, a):
        """How much exposure the groups of class a are short of, in the mean over demands."""
        need: cython.double = 0.0
        for c in range(self.owed.n_demands):
            w = self.owed.column[a, c]
            need += self.owed.middle[w] - self.owed.E[w]
        return need / self.owed.n_demands

    def draw(self):
        """A number from 0 to 1, the next of a fixed series."""
        self.chance ^= self.chance << 13
        self.chance ^= self.chance >> 7
        self.chance ^= self.chance << 17
        return cython.cast(cython.double, self.chance >> 11) * 2.0**-53

    def seek(self, c, limit):
        """Look for pairs of words with a smaller gap of demand c, of at most `limit` and until it is met."""
        self.owed.narrow(c, min(self.gap[c] - 2.0 * slack, limit))
        u: int64_t = 0
        while u < self.upper.classes.shape[0] and not self.is_met(c) and self.gap[c] > self.bound[c] + 2.0 * slack:
            if self.n_top > 0 and self.looks > self.max_looks:
                break
            if not (self.stand_after(u) and self.pair_up(u, c)):
                u += 1

    def stand_after(self, u):
        """Let exposure be what it is after an upper word; whether some lower word may follow."""
        self.looks += 1
        for w in range(self.owed.n_columns):
            self.owed.E[w] = self.charged[w] + self.upper.gain[u, w]
        for c in range(self.owed.n_demands):
            if not self.narrow_ends(c):
                return False
        for a in range(self.round.n_groups):
            if self.gone[a] + self.upper.count[u, a] > self.round.size[a]:
                return False
        return True

    def narrow_ends(self, c):
        """Narrow between what the groups of demand c may end: nobody loses, so that those ahead pull up the others.

        Returns whether lower words may lead there.
        """
        first, last, limit = self.owed.start[c], self.owed.start[c + 1], self.owed.limit[c] + slack
        left: cython.double = 0.0
        least: cython.double = 0.0
        for w in range(first, last):
            least = max(self.owed.lower[w], self.owed.E[w] + self.lower.least[w])
            for h in range(first, last):
                if h > w:
                    least = max(least, self.owed.ratio[w, h] * self.owed.E[h] - limit)
                elif h < w:
                    least = max(least, self.owed.ratio[w, h] * (self.owed.E[h] - limit))
            if least > self.owed.E[w] + self.lower.most[w] + slack:
                return False
            self.low[w] = least
            left += self.charged[w] - least
        left += self.below
        for w in range(first, last):
            self.high[w] = min(self.owed.upper[w], self.low[w] + left + slack)
            if self.high[w] < self.low[w] - slack:
                return False
        return True

    def pair_up(self, u, c):
        """Look for a lower word to an upper one that lowers the gap of demand c; whether there is one."""
        w, other = self.lower.first, self.lower.second
        low, high = self.low[w] - slack - self.owed.E[w], self.high[w] + slack - self.owed.E[w]
        least, most = self.low[other] - slack - self.owed.E[other], self.high[other] + slack - self.owed.E[other]
        for b in range(self.lower.low.shape[0]):
            if self.lower.high[b] < low or self.lower.low[b] > high:
                continue
            end = self.lower.start[b + 1]
            v = self.lower.first_at_least(self.lower.start[b], end, least)
            self.looks += 1
            while v < end and self.lower.gain[v, other] <= most:
                self.looks += 1
                if self.fits(u, v):
                    self.enter(u, v)
                    self.owed.narrow(c, self.gap[c] - 2.0 * slack)
                    return True
                v += 1
        return False

    def fits(self, u, v):
        """Whether a pair of words keeps all limits and takes no more documents than there are."""
        for i in range(self.owed.watched.shape[0]):
            w = self.owed.watched[i]
            after = self.owed.E[w] + self.lower.gain[v, w]
            if after < self.low[w] - slack or after > self.high[w] + slack:
                return False
        for a in range(self.round.n_groups):
            if self.gone[a] + self.upper.count[u, a] + self.lower.count[v, a] > self.round.size[a]:
                return False
        return self.owed.would_keep_limits(self.lower.gain[v])

    def enter(self, u, v):
        """Let the template be this pair of words, below the top."""
        first = self.n_top + self.upper.classes.shape[1]
        for p in range(self.round.k):
            if p < self.n_top:
                self.template[p] = self.list[p]
            elif p < first:
                self.template[p] = self.upper.classes[u, p - self.n_top]
            else:
                self.template[p] = self.lower.classes[v, p - first]
        self.enter_gaps()

    def least_possible(self, c):
        """A bound on the gap of demand c: what sets of its groups lack although they have all the best positions."""
        first, last, found = self.owed.start[c], self.owed.start[c + 1], max(self.bound_by_top(c), 0.0)
        n_groups = last - first
        self.inside[:] = False
        if n_groups > MOST_GROUPS:
            for w in range(first, last):
                self.inside[w] = True
                found = max(found, self.bound_by_set(c))
                self.inside[first:last] = True
                self.inside[w] = False
                found = max(found, self.bound_by_set(c))
                self.inside[first:last] = False
            return found
        for number in range(1, (1 << n_groups) - 1):
            for w in range(first, last):
                self.inside[w] = (number >> (w - first)) & 1
            found = max(found, self.bound_by_set(c))
        return found

    def bound_by_top(self, c):
        """The least gap of demand c as far as the position with most exposure tells: some group has it."""
        highest = self.top_sums[1]
        bound: cython.double = INFINITY
        self.owed.narrow(c, 1.0)
        for a in range(self.round.n_groups):
            w = self.owed.column[a, c]
            room = self.owed.upper[w] - self.owed.middle[w]
            if self.round.size[a] > 0:
                bound = min(bound, (self.owed.spent[w] + highest - self.owed.middle[w] - slack) / max(room, slack))
        self.owed.narrow(c, INFINITY)
        return bound

    def bound_by_set(self, c):
        """The least gap of demand c as far as the groups `inside` tell, which together get no more than so much.

        If no pair is further apart than x, then |E_g / w_g - E_h / w_h| <= x / w_min(g, h). Averaged over the groups
        inside and outside, weighted by their shares, that bounds how far these means can be apart.
        """
        first, last = self.owed.start[c], self.owed.start[c + 1]
        n_documents: int64_t = 0
        spent, others, share, rest, apart, sizes = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for a in range(self.round.n_groups):
            if self.inside[self.owed.column[a, c]]:
                n_documents = min(n_documents + self.round.size[a], self.round.k)
        for g in range(first, last):
            sizes += fabs(self.owed.spent[g])
            if not self.inside[g]:
                rest += self.owed.w[g]
                others += self.owed.spent[g]
                continue
            share += self.owed.w[g]
            spent += self.owed.spent[g]
            for h in range(first, last):
                if not self.inside[h]:
                    apart += self.owed.w[g] * self.owed.w[h] / self.owed.w[min(g, h)]
        most = spent + self.top_sums[n_documents]
        left = others + self.owed.total - self.top_sums[n_documents]
        # Sums have rounding errors as large as what they add up.
        return (left * share - most * rest) / apart * (1.0 - 1e-12) - slack - 1e-12 * sizes
