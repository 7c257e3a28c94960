"""The exploration draw inside blocks, against an obvious version with NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from fairexp.kernels.pairrank.belief import WITHIN_BLOCK, explore


def random_relation(rng, n):
    """Certain orders of documents sorted by score: any upper triangle; with the counts that kernels pass along."""
    certain = np.triu(rng.random((n, n)) < rng.choice([0.0, 0.7, 0.97, 1.0]), k=1)
    uncertain = ~certain & ~np.tril(np.ones((n, n), dtype=bool))
    last = np.array([np.flatnonzero(row)[-1] if row.any() else i for i, row in enumerate(uncertain)])
    return certain, last, certain.sum(axis=0), certain.sum(axis=1)


def obvious_blocks(last):
    """A block ends where nothing above or at a position is uncertain with anything below it."""
    ends = np.maximum.accumulate(last) <= np.arange(len(last))
    return np.concatenate([[0], np.cumsum(ends)[:-1]])


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("within_block", WITHIN_BLOCK)
def test_blocks_and_draw_agree_with_the_obvious_version(seed, within_block):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    certain, last, above, below = random_relation(rng, n)
    keys = rng.random(n)
    shuffled = np.argsort(keys if within_block == "random" else keys[:0])
    block, draw = explore(certain, last, above, below, keys, shuffled, WITHIN_BLOCK[within_block])
    assert block.tolist() == obvious_blocks(last).tolist()
    assert sorted(draw.tolist()) == list(range(n))
    assert (np.diff(block[draw]) >= 0).all()
    if within_block == "random":
        assert draw.tolist() == np.lexsort((keys, block)).tolist()
    elif within_block == "score":
        assert draw.tolist() == list(range(n))
    else:
        place = np.argsort(draw)
        assert not any(certain[i, j] and place[i] > place[j] for i in range(n) for j in range(n))
