"""One query that comes again and again, to users of a known click model: where per-query rankers have guarantees."""

from __future__ import annotations

import numpy as np

from fairexp import Query

EXAMINATION = 0.8 ** np.arange(20)


def cascade(attraction, rng):
    """Clicks (m,) of a user who leaves with the first."""
    clicks = rng.random(len(attraction)) < attraction
    return clicks & (np.cumsum(clicks) == 1)


def positions(attraction, rng):
    """Clicks (m,) of a user who examines each position with a probability of its own."""
    return rng.random(len(attraction)) < attraction * EXAMINATION[: len(attraction)]


def read(attraction, rng):
    """Clicks (m,) of a user who examines everything."""
    return rng.random(len(attraction)) < attraction


def satisfied(attraction):
    """The probability that a user of the cascade model clicks."""
    return 1.0 - np.prod(1.0 - attraction)


def expected_clicks(attraction):
    """How often a user of the position-based model clicks."""
    return (attraction * EXAMINATION[: len(attraction)]).sum()


MODELS = {"cascade": (cascade, satisfied), "positions": (positions, expected_clicks), "read": (read, expected_clicks)}


def serve(ranker, attraction, n_rounds, *, model="positions", seed=0, groups=None, features=None):
    """Serve the query `n_rounds` times; what each round lacked (n_rounds,) to the best list, and the rankings."""
    attraction = np.asarray(attraction, dtype=float)
    click, value = MODELS[model]
    rng = np.random.default_rng(seed)
    features = np.zeros((len(attraction), ranker.n_features)) if features is None else features
    query = Query(features=features, groups=groups, query_id="q", document_ids=np.arange(len(attraction)))
    best = value(np.sort(attraction)[::-1][: ranker.length])
    lacked, rankings = np.empty(n_rounds), []
    for number in range(n_rounds):
        ranking = ranker.rank(query)
        shown = attraction[ranking.shown]
        ranker.update(ranking, click(shown, rng))
        lacked[number] = best - value(shown)
        rankings.append(ranking)
    return lacked, rankings


def growth(lacked, decades=1):
    """The slope of log cumulative regret over log rounds, over the last `decades` of them: 1 where regret is linear."""
    rounds = np.arange(1, len(lacked) + 1)
    late = rounds >= len(lacked) // 10**decades
    return np.polyfit(np.log(rounds[late]), np.log(np.maximum(np.cumsum(lacked)[late], 1e-9)), 1)[0]
