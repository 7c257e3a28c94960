"""Kernels on inputs of every size and shape: `make test-bounds` runs many more cases, with every index checked."""

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fairexp.fairness.search import Demand, best_ranking
from fairexp.kernels.algebra import linear
from fairexp.kernels.bandits import batches, orders, rates
from fairexp.kernels.baselines import lists as rival_lists
from fairexp.kernels.baselines import objectives, quotas
from fairexp.kernels.data import clicks as sessions
from fairexp.kernels.data import scaling
from fairexp.kernels.fairness import gaps
from fairexp.kernels.fairness.least_gap import LeastGap, Words
from fairexp.kernels.fairness.local_search import LocalSearch
from fairexp.kernels.fairness.owed import Owed
from fairexp.kernels.fairness.rounds import Aim, Draw, Round
from fairexp.kernels.gradient import interleaving, replays
from fairexp.kernels.measures import misordered, ndcg, quality
from fairexp.kernels.pairrank import belief, cholesky, documents, logistic, pairs
from fairexp.kernels.pdgd import pdgd

CASES = int(os.environ.get("FAIREXP_FUZZ_CASES", "40"))
many = settings(max_examples=CASES, deadline=None, suppress_health_check=list(HealthCheck))
seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)
sizes = st.integers(1, 40)
SCALES = st.sampled_from([0.0, 1e-12, 0.1, 1.0, 1e3, 1e150])


def tied(rng, *shape):
    """Numbers of which many are equal."""
    return rng.integers(-3, 4, size=shape) * rng.choice([0.5, 1.0, 1e100])


@many
@given(seeds, sizes, sizes, SCALES)
def test_linear_models(rng, n, d, scale):
    features, weights = tied(rng, n, d), scale * rng.normal(size=d)
    for scores in (linear.linear_scores(features, weights), linear.bounded_scores(features, weights, 10.0)):
        assert scores.shape == (n,) and len(set(scores[(features == features[0]).all(axis=1)].tolist())) == 1
    products, others = linear.row_products(features, features + 1.0), np.abs(features * (features + 1.0)).sum(axis=1)
    assert np.allclose(products, (features * (features + 1.0)).sum(axis=1), rtol=0.0, atol=1e-12 * others.max())
    k = int(rng.integers(1, 45))
    keys = rng.random(n)
    expected = np.lexsort((keys, -scores))[:k]
    assert linear.top_documents(scores, keys, k).tolist() == expected.tolist()


@many
@given(seeds, sizes, sizes, st.integers(0, 40))
def test_projections(rng, n, d, m):
    documents, direction = rng.integers(-3, 4, size=(m, d)) * 0.5, rng.normal(size=d)
    projected = linear.project(direction, documents, 1e-6)
    basis, strengths, _ = np.linalg.svd(documents.T, full_matrices=False)
    basis = basis[:, strengths > 1e-9 * strengths.max(initial=0.0)]
    assert projected == pytest.approx(basis @ (basis.T @ direction), abs=1e-6)
    features, longest = tied(rng, n, d), float(rng.choice([1e-3, 1.0, 1e200]))
    lengths, shorter = np.linalg.norm(features, axis=1), linear.shorten(features, longest)
    if shorter is None:
        assert (lengths <= longest * (1.0 + 1e-12)).all()
    else:
        assert (lengths > longest * (1.0 - 1e-12)).any()
        expected = features * np.minimum(longest / np.maximum(lengths, 1e-300), 1.0)[:, None]
        assert np.allclose(shorter, expected, rtol=1e-12, atol=0.0)


@many
@given(seeds, st.lists(st.integers(2, 4), min_size=2, max_size=3), st.sampled_from([1, 50, 4000]))
def test_rankings_for_several_demands(rng, sizes, effort):
    n, k = int(rng.integers(1, 30)), int(rng.integers(1, 14))
    demands = [
        Demand(
            rng.integers(0, size, n), tied(rng, size) % 9.0, rng.uniform(0.1, 9.0, size), rng.choice([0.0, 0.3, 9.0])
        )
        for size in sizes
    ]
    exposure = np.abs(tied(rng, min(n, k)) % 7.0) if rng.random() < 0.3 else 1.0 / np.arange(1, min(n, k) + 1)
    order, certain = rng.permutation(n), rng.random((n, n)) < rng.random()
    for ties in ("draw", "fairest"):
        chance = rng if rng.random() < 0.5 else None
        best = best_ranking(order, demands, certain, exposure=exposure, ties=ties, effort=effort, rng=chance)
        assert len(set(best.shown.tolist())) == len(exposure) and best.regret_bound <= best.added_regret
        assert all(outcome.gap_bound <= outcome.gap + 1e-9 for outcome in best.outcomes)
        assert not best.exact or best.regret_bound == best.added_regret


@many
@given(seeds, st.integers(2, 5), st.integers(1, 24), st.sampled_from([1, 300]))
def test_least_gaps(rng, n_groups, k, effort):
    """Parts of every length, sizes that leave hardly a choice, equal exposures and exposures of 0."""
    n = k + int(rng.integers(0, 8))
    groups = np.concatenate([np.arange(n_groups), rng.integers(0, n_groups, n)])
    P = np.abs(tied(rng, k) % 7.0) if rng.random() < 0.4 else 1.0 / np.arange(1, k + 1)
    round, owed = Round(P, n_groups), Owed(P, np.arange(n_groups)[:, None], (n_groups,))
    spent, w, no_keys = tied(rng, n_groups) % 9.0, rng.uniform(0.1, 9.0, n_groups), np.zeros((0, 0), dtype=np.int64)
    tolerance = float(rng.choice([0.0, 0.1, 9.0]))
    order, certain = rng.permutation(len(groups)), rng.random((len(groups), len(groups))) < 0.2
    round.begin(Draw(order, groups, certain, np.arange(len(groups))), Aim(spent, w, tolerance, False, False, no_keys))
    owed.begin(spent, w, np.array([tolerance]))
    lower = int(rng.integers(0, min(k, 5) + 1))
    upper, first = int(rng.integers(0, min(k - lower, 5) + 1)), int(rng.integers(n_groups))
    parts = P[k - upper - lower : k - lower], P[k - lower :]
    sizes_of = np.minimum(np.bincount(groups), k)
    words = [
        Words(part, owed.column, n_groups, each, (first, int(rng.integers(n_groups))))
        for part, each in zip(parts, (sizes_of, np.full(n_groups, k)), strict=True)
    ]
    search = LeastGap(round, owed, LocalSearch(round, owed), *words)
    known = groups[order[:k]]
    search.search(known, effort)
    template = np.array(search.template)
    after = spent + np.bincount(template, weights=P, minlength=n_groups)
    before = gaps.largest_gap(spent + np.bincount(known, weights=P, minlength=n_groups), w)
    assert (np.bincount(template, minlength=n_groups) <= np.bincount(groups)).all()
    assert search.gap[0] == pytest.approx(gaps.largest_gap(after, w), abs=1e-9) and search.gap[0] <= before + 1e-9


@many
@given(seeds, sizes, sizes, SCALES)
def test_duels(rng, n, d, scale):
    m = int(rng.integers(1, n + 1))
    rivals = scale * rng.normal(size=(int(rng.integers(0, 12)), d))
    features, weights = tied(rng, n, d), rng.normal(size=d)
    scores = linear.rival_scores(features, weights, rivals, 0.5)
    models = np.concatenate([weights[None], weights + 0.5 * rivals])
    sizes_of = np.abs(features) @ (np.abs(weights) + np.abs(models)).T
    assert (np.abs(scores - models @ features.T) <= 1e-12 * sizes_of.T).all()
    r = len(scores)
    scores[rng.random(scores.shape) < 0.1] = -np.inf
    scores[0] = np.nan_to_num(scores[0], neginf=0.0)  # every document is on a list
    uniforms = np.where(rng.random(n + m) < 0.2, 1.0 - 2.0**-53, rng.random(n + m))
    shown, team, chances = np.empty(m, dtype=np.int64), np.empty(m, dtype=np.int64), np.empty((m, r))
    interleaving.draft(scores, uniforms, shown, team)
    assert len(set(shown.tolist())) == m and set(team.tolist()) <= set(range(-1, r))
    interleaving.draw(scores, uniforms[:n], uniforms[n:], 3.0, shown, chances)
    assert len(set(shown.tolist())) == m and ((chances >= 0) & (chances <= 1)).all() and chances.any(axis=1).all()
    signs = interleaving.expected_signs(chances, int(rng.integers(r)))
    assert (np.abs(signs) <= 1.0 + 1e-9).all()


@many
@given(seeds, sizes, sizes)
def test_replays(rng, n, h):
    k, r = int(rng.integers(1, n + 1)), int(rng.integers(2, 5))
    lengths = rng.integers(1, k + 1, size=h)
    chances = replays.replay_lists(tied(rng, r, h * n), rng.random(n), rng.integers(k, n + 1, size=h), lengths, 3.0, k)
    assert chances.shape == (h, k, r) and ((chances >= 0) & (chances <= 1)).all()
    for place, length in enumerate(lengths.tolist()):
        assert (chances[place, :length] > 0).all() and not chances[place, length:].any()
    same = np.repeat(chances[:, :, :1], 2, axis=2)
    logged = np.array([np.log(each[:length]).sum() for each, length in zip(same[:, :, 0], lengths, strict=True)])
    clicks = rng.random((h, k)) < 0.5
    assert (np.abs(replays.said(same, clicks, lengths, logged, 0, 1)) <= 1e-9).all()
    assert np.isfinite(replays.said(chances, clicks, lengths, logged, 0, 1)).all()


@many
@given(seeds, sizes, st.sampled_from([0.0, 0.01, 0.3, 10.0]), st.integers(0, 2))
def test_beliefs(rng, n, factor, within_block):
    scores = np.sort(tied(rng, n))[::-1].copy()
    points = rng.normal(size=(n, 3))
    squares = np.einsum("ij,ij->i", points, points)
    certain, last = np.zeros((n, n), dtype=np.bool_), np.arange(n)
    above, below = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    step = int(rng.integers(1, n + 1))
    for first in range(0, n, step):
        end = min(first + step, n)
        far = belief.surely_far(scores, squares, factor, first, end)
        products = points[first:end] @ points[first:far].T
        belief.mark_certain(scores, squares, products, factor, first, certain, above, below, last)
    keys = np.where(rng.random(n) < 0.2, 1.0 - 2.0**-53, rng.random(n))
    block, draw = belief.explore(certain, last, above, below, keys, rng.permutation(n), within_block)
    assert sorted(draw.tolist()) == list(range(n)) and (np.diff(block) >= 0).all() and (np.diff(block[draw]) >= 0).all()
    assert (above == certain.sum(axis=0)).all() and (below == certain.sum(axis=1)).all()


@many
@given(seeds, st.integers(0, 30), sizes)
def test_learning_from_clicks(rng, k, d):
    clicks, keys = rng.random(k) < rng.random(), rng.random(k)
    for matched in (keys, keys[:0]):
        rows = pairs.difference_rows(rng.normal(size=(k, d)), clicks, matched)
        weights, before, step = tied(rng, len(rows)) ** 2, rng.normal(size=len(rows)), rng.normal(size=d)
        step *= rng.choice([1.0, 1e5])
        loss, margins, pulled = logistic.follow(rows, weights, before, step)
        assert (np.abs(margins - (before + rows @ step)) <= 1e-9 * (1.0 + np.abs(rows) @ np.abs(step))).all()
        assert loss == pytest.approx(weights @ np.logaddexp(0.0, -margins))
        pulls = weights * np.exp(-np.logaddexp(0.0, margins))
        assert (np.abs(pulled - pulls @ rows) <= 1e-9 * (pulls @ np.abs(rows))).all()
        assert (logistic.slopes(margins, weights) <= 0.2501 * weights).all()
    sums = np.zeros((3, 10))
    assert np.isfinite(logistic.slope_sums(tied(rng, k), clicks, keys < 0.5, rng.random(), 0.5, sums)).all()
    logistic.graded_sums(tied(rng, k), rng.integers(0, 3, k), rng.random(), sums)
    logistic.graded_sums(np.full(k, np.inf), rng.integers(0, 3, k), 1.0, sums)  # differences that are no numbers
    assert (sums[2] <= sums[0]).all() and (sums[1] <= sums[0]).all() and (2 * sums[1] >= sums[0] - 1e-9).all()
    numbers, tags = np.where(keys < 0.9, tied(rng, k), np.inf), np.zeros(documents.SHAPE, dtype=np.uint16)
    assert documents.note(numbers, tags).all() and documents.any_met(numbers, tags) == (k > 0)
    n = k + int(rng.integers(0, 9))
    scores = tied(rng, n)
    shown = rng.permutation(n)[:k]
    groups = rng.integers(3, size=n)
    rest = pdgd.log_rest(scores, groups, shown)
    weights = pdgd.document_weights(scores[shown], rest, groups[shown], rng.normal(size=k), clicks)
    assert pdgd.expected_regret(scores, 255.0).shape == (n, n)
    assert weights.sum() == pytest.approx(0.0, abs=1e-9)


def relation(rng, n):
    """An acyclic, closed relation (n, n) over documents in a random order."""
    better = np.triu(rng.random((n, n)) < rng.random(), 1)
    for k in range(n):
        better |= better[:, k, None] & better[None, k, :]
    shuffled = rng.permutation(n)
    return np.ascontiguousarray(better[np.ix_(shuffled, shuffled)])


@many
@given(seeds, sizes, st.integers(1, 30))
def test_bandits_believe(rng, n, length):
    better, lists, keys = relation(rng, n), rng.integers(4, size=n), rng.random(n)
    layer = orders.layers(better)
    assert ((layer[:, None] < layer[None, :]) | ~better).all()
    order = np.lexsort((keys, layer))
    assert (np.diff(orders.blocks_along(order, better)[order]) >= 0).all()
    rank, _ = orders.chains(rng.integers(-1, 2, size=(n, n)) * 1.0, lists, keys, length)
    for each in set(lists.tolist()):
        assert sorted(rank[lists == each].tolist()) == list(range((lists == each).sum()))
    is_open, chances = rng.random(4)[lists] < 0.5, rng.random((4, n))
    varied = bool(rng.random() < 0.5)
    draw, classes, scores = orders.exchange_neighbours(order, lists, is_open, better, length, varied, chances)
    assert (lists[draw] == lists[order]).all() and (lists[classes] == lists).all()
    assert np.array_equal(scores[order], -np.arange(n))
    numbers = orders.blocks_by_group(layer, better, lists)
    if (better & (lists[:, None] != lists[None, :])).any():
        assert numbers is None
    else:
        assert len(set(numbers.tolist())) == len(set(zip(layer.tolist(), lists.tolist(), strict=True)))
    assert sorted(draw.tolist()) == list(range(n))
    assert np.array_equal(orders.filled(lists[order], lists, order), order)
    counts = np.floor(rng.random(n) * 9)
    lower, upper = rates.kl_bounds(np.floor(rng.random(n) * (counts + 1)) / np.maximum(counts, 1.0), counts, 3.0)
    assert ((lower >= 0.0) & (lower <= upper) & (upper <= 1.0)).all()
    block, above = rates.interval_orders(lower, upper, np.argsort(-upper))
    assert not (above & (block[:, None] > block[None, :])).any()


@many
@given(seeds, sizes)
def test_bandits_learn(rng, n):
    rows = rng.permutation(n + 3)[:n]
    rows[rng.random(n) < 0.2] = -1
    shown = rng.permutation(n)[: int(rng.integers(0, n + 1))]
    clicks, lists = rng.random(len(shown)) < 0.5, rng.integers(3, size=n)
    lead, duels = np.zeros((2, n + 3, n + 3))
    orders.count_duels(lead, duels, rows, lists, shown, clicks, 1.0)
    assert np.array_equal(lead, -lead.T) and np.array_equal(duels, duels.T)
    views, clicked = np.zeros((2, n + 3))
    rates.count_examined(rows, shown, rng.random(len(shown)), len(shown), views, clicked)
    assert (clicked <= views).all() and views.sum() == (rows[shown] >= 0).sum()
    first, phase, quota = rng.integers(1, 4, size=n), rng.choice([-1, 1, 2], size=n), rng.integers(4, size=n)
    fresh, counts = rng.random(n) < 0.5, np.floor(rng.random(n) * 4)
    draw = batches.with_trials(rng.permutation(n), lists, first, phase, quota, counts, fresh, rng.random(n))
    assert sorted(draw.tolist()) == list(range(n))
    batches.is_unsettled(lists, first, phase, quota, counts)
    _, block, above = batches.part_orders(np.lexsort((first, phase < 0)), lists, first, phase)
    assert block.max(initial=0) < max(n, 1) and not above.diagonal().any()
    own = rng.integers(1, 3, size=(2, n + 3))
    batches.count_trials(rows, shown, rng.random(len(shown)), lists, (first, phase), (*own, views, clicked))
    due = rng.random(n) < 0.5
    batches.count_batches(rows, shown, clicks, due, (first, phase), (*own, views, clicked), 2.0)
    assert len(batches.smallest_counts(lists, rows, views)) == n and (clicked <= views).all()
    assert len(batches.least_counted(lists, counts)) == n and gaps.largest(lists) == lists.max(initial=-1)


@many
@given(seeds, sizes, st.integers(1, 6), st.sampled_from([0.0, 1.0, 1e100]))
def test_lists_of_rivals(rng, n, n_groups, weight):
    k = int(rng.integers(1, n + 1))
    scores, keys, groups = tied(rng, n), rng.random(n), rng.integers(n_groups, size=n)
    exposure, merit, ties = 1.0 / np.arange(1, k + 1), rng.uniform(0.1, 9.0, n_groups), rng.random(n_groups)
    lift, had, fair = tied(rng, n_groups), np.abs(tied(rng, n_groups, k)), rng.random(k) < rng.random()
    lifted = rival_lists.lifted_list(scores, weight, lift, groups, keys, k)
    assert lifted.tolist() == np.lexsort((keys, -(weight * scores + lift[groups])))[:k].tolist()
    plain, template = np.lexsort((keys, -scores)), rng.integers(n_groups, size=k)
    filled = rival_lists.template_list(scores, keys, groups, template)
    worst_off = rival_lists.worst_off_list(scores, keys, groups, had, merit, exposure, fair, ties)
    mixed = rival_lists.mixed_list(scores, keys, groups, merit, weight, ties, k)
    for shown in (filled, worst_off, mixed):
        assert len(set(shown.tolist())) == k and set(shown.tolist()) <= set(range(n))
    for g in range(n_groups):  # inside a group the best come first
        for shown in (worst_off, mixed) if fair.all() else (mixed,):
            inside = shown[groups[shown] == g]
            assert inside.tolist() == plain[groups[plain] == g][: len(inside)].tolist()
        if (template == g).sum() > (groups == g).sum():
            assert set(np.flatnonzero(groups == g).tolist()) <= set(filled.tolist())
    unfair = rival_lists.worst_off_list(scores, keys, groups, had, merit, exposure, fair & False, ties)
    assert unfair.tolist() == plain[:k].tolist()
    rates = np.where(rng.random(k) < 0.2, rng.choice([0.0, 1.0]), rng.random(k))
    chances = rival_lists.click_chances(rates, float(rng.choice([0.0, 0.5, 1.0])))
    assert chances.shape == (k,) and ((chances >= -1e-9) & (chances <= 1.0 + 1e-9)).all()


@many
@given(seeds, sizes, st.sampled_from([0.0, 1e-9, 1.0, 1e9]), st.sampled_from([1e-3, 1.0]))
def test_objectives_of_rivals(rng, m, scale, smoothing):
    had, merit = scale * np.abs(tied(rng, m) % 9.0), rng.uniform(0.1, 9.0, m)
    behind = objectives.lag(had, merit)
    assert behind.min() == 0.0 and behind[np.argmax(had / merit)] == 0.0
    down = objectives.descent(had, merit)
    summed = merit * (had @ merit), had * (merit @ merit)
    if np.abs(summed[0] - summed[1]).max() > 1e-6 * max(np.abs(summed).max(), 1.0):  # else it is what rounding left
        assert np.abs(down).max() == pytest.approx(1.0, abs=1e-3) and abs(down @ merit) <= 1e-6 * merit.sum()
    assert (np.abs(down) <= 1.0).all()
    for gradient in (objectives.deviation, objectives.softmin, objectives.welfare):
        pull = gradient(had, merit, smoothing)
        assert np.isfinite(pull).all() and len(pull) == m
        even = gradient(scale * merit, merit, smoothing) * (merit if gradient is not objectives.welfare else 1.0)
        assert even == pytest.approx(even[0], abs=1e-5)


@many
@given(seeds, sizes, st.integers(1, 12), st.sampled_from([0.0, 1.0, 1e6]))
def test_quotas_of_rivals(rng, m, k, scale):
    had, merit, exposure = scale * rng.random(m), rng.uniform(0.1, 9.0, m), 1.0 / np.arange(1, k + 1)
    n_lists = int(rng.integers(1, 20))
    most, least = 1.0 * n_lists, rng.choice([0.0, 0.5]) * n_lists * rng.random(m)
    total = float(rng.uniform(least.sum(), most * m))
    floor = float(rng.choice([0.0, 0.9]) * total * merit.max())
    quota = quotas.quotas(had, merit, least, most, total, floor)
    assert quota.sum() == pytest.approx(total, rel=1e-6, abs=1e-11 * scale)
    assert ((quota >= least - 1e-9) & (quota <= most + 1e-9)).all()
    once = bool(rng.random() < 0.5) and k <= m
    spent = quotas.vertical_lists(quota, rng.permutation(m), exposure, n_lists, once)
    assert spent.shape == (n_lists, k) and ((spent >= 0) & (spent < m)).all()
    assert not once or all(len(set(each)) == k for each in spent.tolist())


@many
@given(seeds, sizes, st.integers(0, 30))
def test_solving(rng, n, m):
    root = rng.normal(size=(n, n))
    matrix = root @ root.T + n * np.eye(n)
    lower = np.linalg.cholesky(matrix)
    right, solution = rng.normal(size=n), np.empty(n)
    cholesky.solve_factored(lower, lower.T.copy(), right, solution)
    assert matrix @ solution == pytest.approx(right, abs=1e-8)
    columns = rng.normal(size=(n, m))
    solved = columns.copy()
    cholesky.solve_lower(lower, solved)
    assert lower @ solved == pytest.approx(columns, abs=1e-8)


@many
@given(seeds, st.integers(1, 12), st.sampled_from([3, 60, 900]))
def test_measures(rng, k, most):
    lengths = rng.integers(0, most, size=4)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    grades, scores = rng.integers(0, 5, size=offsets[-1]), tied(rng, offsets[-1])
    gain, discount = np.exp2(np.arange(5)) - 1.0, 1.0 / np.log2(np.arange(2, k + 2))
    values = ndcg.ndcg_by_query(scores, grades, offsets, gain, discount)
    assert ((values >= 0) & (values <= 1)).all()
    shown = rng.permutation(offsets[-1])[: int(rng.integers(0, 20))]
    reached, wrong = quality.shown_quality(shown, grades, gain, discount)
    assert 0 <= reached <= 1 + 1e-12 and wrong == misordered.count_misordered(shown, grades, 5)
    for bad in (np.array([0, 0]), np.array([-1]), np.array([offsets[-1]]), np.array([1 << 62])):
        assert quality.shown_quality(bad, grades, gain, discount)[1] == -1
    assert quality.shown_quality(shown, grades + 5 * (offsets[-1] > 0), gain, discount)[1] in (-1, 0)


@many
@given(seeds, st.integers(0, 9), st.integers(1, 12))
def test_sessions(rng, n_sessions, length):
    grades = rng.integers(0, 5, size=(n_sessions, length))
    clicked, examined = np.zeros(grades.shape, dtype=np.bool_), np.zeros(grades.shape, dtype=np.bool_)
    chances = rng.random(5), rng.random(5)
    sessions.dependent_visits(grades, *chances, True, rng.random((n_sessions, 2, length)), clicked, examined)
    assert (examined | ~clicked).all() and (np.diff(examined.astype(int), axis=1) <= 0).all()
    coins = np.where(rng.random(grades.shape) < 0.2, 1.0 - 2.0**-53, rng.random(grades.shape))
    for top in sessions.shuffled_tops(length + rng.integers(0, 9, size=n_sessions), coins):
        assert len(set(top.tolist())) == length
    assert sessions.extremes(grades.ravel()) == (grades.min(initial=5) % 5, grades.max(initial=0))


@many
@given(seeds, st.integers(0, 20), sizes)
def test_scaling(rng, n, d):
    features = np.clip(tied(rng, n, d), -3e38, 3e38).astype(np.float32)
    offsets = np.array([0, n // 3, n // 3, n])
    scaling.scale_queries(features, offsets)
    assert ((features >= 0) & (features <= 1)).all()
