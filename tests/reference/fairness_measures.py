"""Fairness measures of the field, slow and straight from their definitions: plain Python, no arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise, permutations

Numbers = Sequence[float]


def target_exposure(grades: Sequence[int], curve: Numbers) -> list[float]:
    """The mean exposure of each document over all rankings that put better grades above worse ones."""
    n = len(grades)
    ideal = [order for order in permutations(range(n)) if all(grades[a] >= grades[b] for a, b in pairwise(order))]
    seen = [curve[p] if p < len(curve) else 0.0 for p in range(n)]
    return [sum(seen[order.index(d)] for order in ideal) / len(ideal) for d in range(n)]


def expected_exposure(given: Numbers, target: Numbers) -> tuple[float, float, float]:
    loss = sum((e - t) ** 2 for e, t in zip(given, target, strict=True))
    return loss, sum(e * e for e in given), 2 * sum(e * t for e, t in zip(given, target, strict=True))


def kl(p: Numbers, q: Numbers) -> float:
    return sum(a * math.log(a / b) for a, b in zip(p, q, strict=True) if a > 0)


def awrf(template: Sequence[int], curve: Numbers, shares: Numbers) -> float:
    attention = [sum(v for g, v in zip(template, curve, strict=False) if g == group) for group in range(len(shares))]
    a = [x / sum(attention) for x in attention]
    s = [w / sum(shares) for w in shares]
    middle = [(x + y) / 2 for x, y in zip(a, s, strict=True)]
    return 1 - (kl(a, middle) / 2 + kl(s, middle) / 2) / math.log(2)


def ndkl(template: Sequence[int], shares: Numbers) -> float:
    s = [w / sum(shares) for w in shares]
    weights = [1 / math.log2(p + 1) for p in range(1, len(template) + 1)]
    prefixes = [template[:p] for p in range(1, len(template) + 1)]
    terms = [
        w * kl([top.count(g) / len(top) for g in range(len(s))], s) for w, top in zip(weights, prefixes, strict=True)
    ]
    return sum(terms) / sum(weights)


def ratio(received: Numbers, deserved: Numbers, groups: Sequence[int], n_groups: int) -> float:
    """The largest of (sum received / sum deserved) of one group over that of another."""
    rates = []
    for group in range(n_groups):
        members = [d for d in range(len(groups)) if groups[d] == group]
        rates.append(sum(received[d] for d in members) / sum(deserved[d] for d in members))
    return max(a / b for i, a in enumerate(rates) for j, b in enumerate(rates) if i != j)


def max_min_share(exposure: Numbers, shares: Numbers) -> float:
    return min((e / sum(exposure)) / (w / sum(shares)) for e, w in zip(exposure, shares, strict=True))


def gini(amounts: Numbers) -> float:
    n, mean = len(amounts), sum(amounts) / len(amounts)
    return sum(abs(a - b) for a in amounts for b in amounts) / (2 * n * n * mean)


def item_disparity(exposure: Numbers, merit: Numbers) -> float:
    rates = [e / r for e, r in zip(exposure, merit, strict=True) if r > 0]
    pairs = [abs(rates[i] - rates[j]) for i in range(len(rates)) for j in range(i)]
    return sum(pairs) / len(pairs) if pairs else 0.0
