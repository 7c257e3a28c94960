"""The last positions of a list, put together from two halves.

Each half has few words over the classes. What a lower word gives to groups depends on the word alone, and what it costs
on the word and on how many documents of each class are gone before it. So lower words stand in the order of what they
give, for each column, and those that fit an upper word stand side by side; what they cost is priced once for each state
of counts. All pairs that may be the best are looked at: a search that ends has proven its find.
"""

import cython
import numpy as np
from cython.cimports.fairexp.kernels.fairness.gaps import slack
from cython.cimports.fairexp.kernels.fairness.owed import next_class, pop_price
from cython.cimports.fairexp.kernels.fairness.rounds import Found
from cython.cimports.libc.math import fabs
from cython.cimports.libc.stdint import int64_t
from cython.cimports.libc.stdlib import qsort

IMPOSSIBLE = 2**60
"""What a word costs that pops a document of an empty queue."""

INDEX_BITS = 20
"""Upper words are sorted as numbers: their cost, and below it their index of so many bits."""


@cython.final
@cython.cclass
class MeetInTheMiddle:
    """The `best` word, over pairs of an upper and a lower one.

    `top` (first,) holds the classes above both halves, `base` (m,) how many of each are gone there, and `charged` (W,)
    what columns have by then. By upper word: its classes, in `words`, its price and that of the top, the state of
    counts it ends in, and what it gives to columns. Lower words are numbers with a digit for each position: by word
    what it gives, `gain` (N, W); by column the words in the order of their `sums`; and by state what they cost.
    """

    def __init__(self, round, owed, lattice, lengths):
        self.round, self.owed, self.lattice = round, owed, lattice
        self.n_upper, self.n_lower = lengths
        k, m = self.round.k, self.round.n_groups
        self.first, self.best = k - self.n_upper - self.n_lower, Found(k)
        self.top, self.template = np.zeros(self.first, dtype=np.int64), np.zeros(k, dtype=np.int64)
        self.base, self.gone, self.other = np.zeros((3, m), dtype=np.int64)
        self.charged = np.zeros(self.owed.n_columns)
        n_uppers, n_lowers = int(m**self.n_upper), int(m**self.n_lower)
        self.words = np.zeros((n_uppers, self.n_upper), dtype=np.int64)
        self.price, self.state, self.by_price = np.zeros((3, n_uppers), dtype=np.int64)
        self.upper_gain = np.zeros((n_uppers, self.owed.n_columns))
        digits = np.arange(n_lowers)[:, None] // m ** np.arange(self.n_lower - 1, -1, -1) % m
        gain = np.zeros((n_lowers, self.owed.n_columns))
        for p, digit in enumerate(digits.T):
            for columns in np.asarray(self.owed.column).T:
                np.add.at(gain, (np.arange(n_lowers), columns[digit]), self.round.P[k - self.n_lower + p])
        self.gain, self.by_sum = gain, np.ascontiguousarray(np.argsort(gain, axis=0, kind="stable").T)
        self.sums = np.ascontiguousarray(np.sort(gain, axis=0).T)
        self.cost = np.zeros((self.lattice.n_states, n_lowers), dtype=np.int64)
        self.priced = np.zeros(self.lattice.n_states, dtype=np.uint8)

    def begin(self, top, least, fairest):
        """Let these classes stand above both halves; words that cost more than `least` do not count."""
        price: int64_t = 0
        self.fairest = fairest
        self.gone[:] = 0
        self.charged[:] = self.owed.spent
        for p in range(self.first):
            self.top[p] = top[p]
            price += pop_price(self.round, self.gone, top[p])
            self.gone[top[p]] += 1
            for c in range(self.owed.n_demands):
                self.charged[self.owed.column[top[p], c]] += self.round.P[p]
        self.base[:] = self.gone
        self.priced[:] = False
        self.count = 0
        self.list_uppers(0, 0, price, least)

    def list_uppers(self, depth, state, price, least):
        """List the upper words that go on from here, in the order of the draw."""
        if price > least:
            return
        if depth == self.n_upper:
            u = self.count
            self.words[u, :] = self.template[self.first : self.first + self.n_upper]
            self.price[u], self.state[u] = price, state
            self.by_price[u] = (price << INDEX_BITS) + u
            self.upper_gain[u, :] = 0.0
            for j in range(self.n_upper):
                for c in range(self.owed.n_demands):
                    self.upper_gain[u, self.owed.column[self.words[u, j], c]] += self.round.P[self.first + j]
            self.count += 1
            return
        a = next_class(self.round, self.gone, -1)
        while a >= 0:
            self.template[self.first + depth] = a
            more = pop_price(self.round, self.gone, a)
            self.gone[a] += 1
            self.list_uppers(depth + 1, self.lattice.child[state, a], price + more, least)
            self.gone[a] -= 1
            a = next_class(self.round, self.gone, a)

    def price_state(self, state):
        """Price the lower words that follow a state."""
        for a in range(self.round.n_groups):
            self.gone[a] = self.base[a] + self.lattice.states[state, a]
        self.price_lowers(state, 0, 0, 0)
        self.priced[state] = True

    def price_lowers(self, state, depth, code, price):
        """Price the lower words that begin with a word."""
        m = self.round.n_groups
        if depth == self.n_lower:
            self.cost[state, code] = price
            return
        for a in range(m):
            if self.gone[a] < self.round.size[a]:
                more = pop_price(self.round, self.gone, a)
                self.gone[a] += 1
                self.price_lowers(state, depth + 1, code * m + a, price + more)
                self.gone[a] -= 1
            else:
                block: int64_t = 1
                for _ in range(self.n_lower - depth - 1):
                    block *= m
                for i in range((code * m + a) * block, (code * m + a + 1) * block):
                    self.cost[state, i] = IMPOSSIBLE

    def first_at_least(self, column, value):
        """Where among the sums of a column, which ascend, the first of at least `value` stands."""
        begin: int64_t = 0
        end: int64_t = self.sums.shape[1]
        while begin < end:
            middle = (begin + end) // 2
            if self.sums[column, middle] < value:
                begin = middle + 1
            else:
                end = middle
        return begin

    def fewest(self):
        """The column that the fewest lower words fit, and where they begin and end."""
        column: int64_t = 0
        begin: int64_t = 0
        end: int64_t = self.sums.shape[1]
        for i in range(self.owed.watched.shape[0]):
            w = self.owed.watched[i]
            low = self.first_at_least(w, self.owed.lower[w] - self.owed.E[w])
            high = self.first_at_least(w, self.owed.upper[w] - self.owed.E[w])
            if high - low < end - begin:
                column, begin, end = w, low, high
        return column, begin, end

    def seek(self, max_looks):
        """Let `best` be the cheapest of all pairs within the limits, unless it is as good already.

        More than `max_looks` at pairs end it with the best so far.
        """
        self.looks, self.best_upper = 0, -1
        qsort(cython.address(self.by_price[0]), self.count, 8, compare)
        for i in range(self.count):
            u = self.by_price[i] & ((1 << INDEX_BITS) - 1)
            if self.looks > max_looks or (self.best.found and self.price[u] > self.best.cost):
                break
            if self.fairest or not 0 <= self.best_upper < u or self.price[u] != self.best.cost:
                self.pair_up(u)

    def pair_up(self, u):
        """Look at all lower words that fit an upper one."""
        state = self.state[u]
        self.stand_after(u)
        column, begin, end = self.fewest()
        if begin < end and not self.priced[state]:
            self.price_state(state)
            self.looks += self.sums.shape[1]
        self.looks += end - begin
        for at in range(begin, end):
            code = self.by_sum[column, at]
            price = self.price[u] + self.cost[state, code]
            if price >= IMPOSSIBLE or (self.best.found and price > self.best.cost):
                continue
            if self.owed.would_keep_limits(self.gain[code]):
                self.enter(u, code, price)
                self.stand_after(u)

    def stand_after(self, u):
        """Let exposure be what it is after an upper word."""
        for w in range(self.owed.n_columns):
            self.owed.E[w] = self.charged[w] + self.upper_gain[u, w]

    def enter(self, u, code, price):
        """Let a pair within the limits be the best, if it is."""
        for w in range(self.owed.n_columns):
            self.owed.E[w] += self.gain[code, w]
        gap = self.owed.gap(0)
        better: cython.bint = not self.best.found
        self.write_template(u, code)
        if self.best.found and price < self.best.cost:
            better = True
        elif self.best.found and self.fairest and fabs(gap - self.best.gap) > slack:
            better = gap < self.best.gap
        elif self.best.found:
            better = self.comes_before()
        if better:
            self.best.found, self.best.cost, self.best.gap, self.best_upper = True, price, gap, u
            self.best.template[:] = self.template

    def write_template(self, u, code):
        """Put the classes of all positions into the template (k,)."""
        m = self.round.n_groups
        for p in range(self.first):
            self.template[p] = self.top[p]
        for j in range(self.n_upper):
            self.template[self.first + j] = self.words[u, j]
        for p in range(self.round.k - 1, self.first + self.n_upper - 1, -1):
            self.template[p] = code % m
            code = code // m

    def comes_before(self):
        """Whether the template is closer to the draw than the best so far, from the top down."""
        self.other[:] = 0
        for p in range(self.round.k):
            one, other = self.template[p], self.best.template[p]
            if one != other:
                return self.round.place[one, self.other[one]] < self.round.place[other, self.other[other]]
            self.other[one] += 1
        return False


def compare(one, other):
    """The order of two numbers, for sorting."""
    a: int64_t = cython.cast(cython.pointer(int64_t), one)[0]
    b: int64_t = cython.cast(cython.pointer(int64_t), other)[0]
    return (a > b) - (a < b)
