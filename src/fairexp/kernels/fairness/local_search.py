"""A list made better by small changes: positions exchange their classes, or one goes to another class.

Better is what leaves less beyond the tolerance of the first demand, then of the second, and so on, and then what costs
less. This proves nothing; it is for lists that no search by cost could finish.
"""

import cython
import numpy as np
from cython.cimports.fairexp.kernels.fairness.gaps import slack


@cython.final
@cython.cclass
class LocalSearch:
    """A template (k,), its cost, and by demand how far it is beyond the tolerance: its `excess` (C,).

    By class (m,): the `count` of its positions, and how many are `gone` above the one that is looked at.
    """

    def __init__(self, round, owed):
        self.round, self.owed = round, owed
        self.template = np.zeros(self.round.k, dtype=np.int64)
        self.excess, self.tried = np.zeros((2, self.owed.n_demands))
        self.count, self.gone = np.zeros((2, self.round.n_groups), dtype=np.int64)

    def begin(self, template):
        """Let the template be this one."""
        self.looks = 0
        self.template[:] = template
        self.cost = self.round.price(template)
        self.owed.book(template, self.round.P)
        self.count[:] = 0
        for p in range(self.round.k):
            self.count[template[p]] += 1
        for c in range(self.owed.n_demands):
            self.excess[c] = max(self.owed.gap(c) - self.owed.tolerance[c], 0.0)

    def improve(self, max_looks):
        """Change the template for the better as long as one change does it, or so many looks."""
        changed: cython.bint = True
        while changed and self.looks < max_looks:
            changed = False
            for p in range(self.round.k):
                for q in range(p + 1, self.round.k):
                    one, other = self.template[p], self.template[q]
                    if one != other and self.looks < max_looks and self.put(p, other, q, one):
                        changed = True
                for a in range(self.round.n_groups):
                    one = self.template[p]
                    if a != one and self.count[a] < self.round.size[a] and self.looks < max_looks:
                        if self.put(p, a, p, a):
                            self.count[one] -= 1
                            self.count[a] += 1
                            changed = True

    def put(self, p, a, q, b):
        """Put class a to position p, and b to q, if that is better; whether it is."""
        one, other = self.template[p], self.template[q]
        self.looks += 1
        self.owed.add(one, -self.round.P[p])
        self.owed.add(a, self.round.P[p])
        if q != p:
            self.owed.add(other, -self.round.P[q])
            self.owed.add(b, self.round.P[q])
        self.template[p], self.template[q] = a, b
        better: cython.bint = self.is_better()
        if not better:
            self.template[p], self.template[q] = one, other
        self.owed.book(self.template, self.round.P)
        return better

    def is_better(self):
        """Whether the template as it is now is better than what is known of it, which it then replaces."""
        better: cython.bint = False
        for c in range(self.owed.n_demands):
            self.tried[c] = max(self.owed.gap(c) - self.owed.tolerance[c], 0.0)
            if not better and self.tried[c] > self.excess[c] + slack:
                return False
            if self.tried[c] < self.excess[c] - slack:
                better = True
        cost = self.round.price(self.template)
        if not better and cost >= self.cost:
            return False
        self.excess[:] = self.tried
        self.cost = cost
        return True

    def follow_draw(self, fairest):
        """Exchange neighbours that stand in the reverse of the draw's order, wherever that keeps all limits.

        An exchange reverses no other pair, so that it never costs anything. Limits are tolerances, or the gaps reached
        beyond them. What is proven best needs none: it is closest to the draw among its equals.
        """
        for c in range(self.owed.n_demands):
            self.owed.limit[c] = max(self.owed.tolerance[c], self.owed.gap(c))
        if fairest:
            self.owed.limit[0] = self.owed.gap(0) - slack
        exchanged: cython.bint = True
        while exchanged:
            exchanged = False
            self.gone[:] = 0
            for p in range(self.round.k - 1):
                if self.exchange(p):
                    exchanged = True
                self.gone[self.template[p]] += 1
        self.cost = self.round.price(self.template)

    def exchange(self, p):
        """Exchange positions p and p + 1 if they stand in the reverse of the draw's order and it keeps all limits."""
        one, other = self.template[p], self.template[p + 1]
        amount = self.round.P[p] - self.round.P[p + 1]
        if one == other or self.round.place[one, self.gone[one]] < self.round.place[other, self.gone[other]]:
            return False
        self.owed.add(one, -amount)
        self.owed.add(other, amount)
        if self.owed.keeps_limits():
            self.template[p], self.template[p + 1] = other, one
            return True
        self.owed.add(one, amount)
        self.owed.add(other, -amount)
        return False
