"""Held-out NDCG of many queries against a NumPy loop over them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from benchmarks.harness import Bar, Outcome, Part, by_turns, compare
from fairexp.lab.metrics import dataset_ndcg
from tests.reference import ndcg as plain


def parts(quick: bool) -> Iterator[Part]:
    """The row for 2,000 queries."""
    yield partial(ndcg_row, turns=5 if quick else 20)


def ndcg_row(*, turns: int) -> Iterator[Outcome]:
    """NDCG@10 of 2,000 queries of about 120 documents each."""
    rng = np.random.default_rng(0)
    offsets = np.concatenate([[0], np.cumsum(1 + rng.negative_binomial(5, 5 / 124, size=2000))])
    scores = rng.standard_normal(offsets[-1])
    grades = rng.choice(5, size=offsets[-1], p=(0.52, 0.32, 0.13, 0.02, 0.01))
    assert np.allclose(dataset_ndcg(scores, grades, offsets), plain.dataset_ndcg(scores, grades, offsets, 10))
    a, b = by_turns(
        lambda: dataset_ndcg(scores, grades, offsets),
        lambda: plain.dataset_ndcg(scores, grades, offsets, 10),
        turns=turns,
        times=(5, 1),
    )
    yield compare("held-out NDCG@10 over 2,000 queries", "the same in a NumPy loop", Bar(20.0, at_most=False), a, b)
