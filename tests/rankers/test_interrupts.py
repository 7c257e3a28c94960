"""Ctrl-C inside `rank`: nothing was shown, so nothing is charged, counted or noted, by any ranker or its host."""

from __future__ import annotations

import linecache
import sys
from itertools import count
from pathlib import Path

import numpy as np
import pytest

import fairexp
from fairexp import Constraint, FairExp, PairRank, Query
from fairexp.rankers import TopRank
from fairexp.registry import construct, parameters_of, ranker_names

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

PACKAGE = str(Path(fairexp.__file__).parent)
N, SHOWN, N_FEATURES = 7, 4, 2
KNOWN = {
    "n_features": N_FEATURES,
    "length": SHOWN,
    "seed": 1,
    "tolerance": 0.4,
    "weights": np.ones(N_FEATURES),
    "grades": {number: np.arange(N) for number in range(3)},
}


class Interrupted:
    """Within the block, line number `at` of the package's lines that are run raises; `line` is its text."""

    def __init__(self, at):
        self.left, self.line = at, None

    def __enter__(self):
        sys.settrace(self._trace)
        return self

    def __exit__(self, kind, error, trace):
        sys.settrace(None)
        return kind is KeyboardInterrupt

    def _trace(self, frame, event, argument):
        code = frame.f_code
        if not code.co_filename.startswith(PACKAGE):
            return None
        if event == "line":
            self.left -= 1
            if self.left < 0:
                self.line = f"{code.co_qualname}: {linecache.getline(code.co_filename, frame.f_lineno).strip()}"
                raise KeyboardInterrupt
        return self._trace


def queries():
    """Queries with ids, of which each comes again, some with candidates that are new."""
    rng, number = np.random.default_rng(0), 0
    while True:
        documents = np.sort(rng.permutation(N + 2)[:N])
        yield Query(
            rng.random((N, N_FEATURES)),
            rng.integers(2, size=N),
            query_id=number % 3,
            document_ids=documents,
            labels={"kind": rng.integers(2, size=N)},
            segment=number % 2,
        )
        number += 1


def differences(one, other):
    return [key for key in one if not np.array_equal(one[key], other[key])]


def check_every_line(ranker, n_before=12):
    stream, rng = queries(), np.random.default_rng(1)
    for _ in range(n_before):
        ranking = ranker.rank(next(stream))
        ranker.update(ranking, rng.random(len(ranking)) < 0.4)
    query, before = next(stream), ranker.state()
    expected = ranker.rank(query).shown
    after = ranker.state()
    assert differences(before, after) and not differences(before, ranker.restore(before).state())
    for at in count():
        ranking = None
        with Interrupted(at) as interrupted:
            ranking = ranker.rank(query)
        if interrupted.line is None:
            break
        # Python drops what is raised where a generator is closed; and no signal is looked at just before a return.
        counts = ranking is not None or interrupted.line == "Ranker.rank: return ranking"
        changed = differences(after if counts else before, ranker.state())
        assert not changed, f"{interrupted.line} left {changed}"
        if counts:
            ranker.restore(before)
    assert at > 10 and np.array_equal(ranking.shown, expected)
    assert not differences(after, ranker.state())


@pytest.mark.parametrize("name", ranker_names())
def test_no_ranker_counts_a_list_that_nobody_got(name):
    known = {key: value for key, value in KNOWN.items() if key in parameters_of(name)}
    check_every_line(construct(name, {}, known=known))


@pytest.mark.parametrize(
    "options",
    [
        {"window": 5},
        {"half_life": 3.0},
        {"per": "query", "max_ledgers": 2},
        {"per": "segment"},
        {"shares": "size"},
        {"shares": "merit"},
    ],
)
@pytest.mark.parametrize("host", [PairRank, TopRank])
def test_no_kind_of_constraint_is_charged_for_a_list_that_nobody_got(host, options):
    constraints = [Constraint(0.4, **options), Constraint(0.6, by="kind", name="kind")]
    ranker = FairExp(host(N_FEATURES, length=SHOWN), constraints=constraints, seed=1)
    check_every_line(ranker)


def test_item_fairness_books_nothing_for_a_list_that_nobody_got():
    for name in ("fairco", "fara", "mcfair"):
        ranker = construct(name, {"level": "item"}, known={"n_features": N_FEATURES, "length": SHOWN, "seed": 1})
        check_every_line(ranker)
