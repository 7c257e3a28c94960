"""Logs of a world with known relevance and known attention: a poor ranker's lists, and who clicked."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fairexp.lab.logs.record import Log, places

TRUTH = np.array([3.0, -2.0, 1.0, 0.0, 0.0])
CURVE = 1.0 / np.arange(1, 11)


def logged(seed, *, n_rankings=3000, n_queries=60, n_documents=14, length=10, curve=CURVE, shuffled=0.3):
    """Lists by a feature that is worth nothing, a little shuffled; clicks by exposure times relevance."""
    rng = np.random.default_rng(seed)
    corpus = rng.random((n_queries, n_documents, len(TRUTH)))
    # The old ranker's favourite, feature 4, goes against the truth: what it puts on top is clicked all the same.
    relevance = 0.5 / (1.0 + np.exp(-(corpus @ TRUTH - 1.0)))
    queries = rng.integers(n_queries, size=n_rankings)
    noisy = corpus[queries][:, :, 4] + shuffled * rng.normal(size=(n_rankings, n_documents))
    shown = np.argsort(-noisy, axis=1)[:, :length]
    rates = np.take_along_axis(relevance[queries], shown, axis=1) * curve[:length]
    clicks = rng.random(rates.shape) < rates
    features = np.take_along_axis(corpus[queries], shown[:, :, None], axis=1)
    return Log(
        features=features.reshape(-1, len(TRUTH)),
        names=tuple("abcde"),
        offsets=np.arange(n_rankings + 1) * length,
        positions=places(np.arange(n_rankings + 1) * length),
        clicks=clicks.ravel(),
        queries=queries,
        documents=shown.ravel(),
    )


def as_table(log, *, shuffled=None):
    """The log as rows, in any order."""
    rows = (
        np.arange(len(log.features))
        if shuffled is None
        else np.random.default_rng(shuffled).permutation(len(log.features))
    )
    rankings = np.repeat(np.arange(log.n_rankings), np.diff(log.offsets))
    columns = {
        "ranking": [f"r{each}" for each in rankings[rows]],
        "query": [f"q{each}" for each in np.repeat(log.queries, np.diff(log.offsets))[rows]],
        "document": [f"d{each}" for each in log.documents[rows]],
        "position": log.positions[rows],
        "click": log.clicks[rows],
        **{name: log.features[rows, number] for number, name in enumerate(log.names)},
        "note": ["text"] * len(rows),
    }
    return pa.table(columns)
