"""Slow, obvious twins of the LETOR parser and of the scaling kernel."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import numpy as np


def exact_float32(text: str) -> np.float32:
    """The float32 nearest to a decimal number, ties to even, by exact arithmetic over all neighbours."""
    exact = Fraction(Decimal(text))
    largest = np.finfo(np.float32).max
    if abs(exact) >= Fraction(float(largest)):
        return np.float32(largest if exact > 0 else -largest)
    guess = np.float32(float(exact))
    near = [guess, np.nextafter(guess, np.float32(-np.inf)), np.nextafter(guess, np.float32(np.inf))]
    near = [x for x in near if np.isfinite(x)]
    return min(near, key=lambda x: (abs(Fraction(float(x)) - exact), int(x.view(np.uint32)) % 2))


def parse_letor(text: str, n_features: int) -> tuple[np.ndarray, list[int], list[int], list[str]]:
    """Features (N, d), grades, offsets and query ids, each query's rows brought together."""
    queries: dict[str, list[tuple[int, dict[int, np.float32]]]] = {}
    for line in text.split("\n"):
        words = line.split("#")[0].split()
        if not words:
            continue
        values = {int(pair.split(":")[0]): exact_float32(pair.split(":")[1]) for pair in words[2:]}
        queries.setdefault(words[1].removeprefix("qid:"), []).append((int(float(words[0])), values))
    rows, grades, offsets = [], [], [0]
    for documents in queries.values():
        for grade, values in documents:
            rows.append([values.get(feature, np.float32(0)) for feature in range(1, n_features + 1)])
            grades.append(grade)
        offsets.append(len(rows))
    return np.array(rows, dtype=np.float32).reshape(-1, n_features), grades, offsets, list(queries)


def scale_by_query(features: np.ndarray, offsets: list[int]) -> np.ndarray:
    """Min-max scaling of each column within each query; constant columns become 0."""
    scaled = np.zeros_like(features)
    for start, stop in pairwise(offsets):
        block = features[start:stop].astype(np.float64)
        low, high = block.min(axis=0), block.max(axis=0)
        for j in range(features.shape[1]):
            if high[j] > low[j]:
                scaled[start:stop, j] = (block[:, j] - low[j]) / (high[j] - low[j])
    return scaled
