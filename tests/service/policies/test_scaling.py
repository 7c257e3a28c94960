"""Features on wild scales: brought to one size by what was seen, kept in the log, and told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairexp.checks.comparison import first_difference
from fairexp.service.changes import Changes
from fairexp.service.engine.candidates import Candidates
from fairexp.service.engine.engine import Engine
from fairexp.service.engine.events import GivenEvent
from fairexp.service.engine.recovery import load_policy
from fairexp.service.policies.scaling import DRIFT, ENOUGH, MOST_SEEN, MOST_SHOWN, RANGE, RunningScale
from fairexp.service.policies.spec import Feature, PolicySpec
from fairexp.service.views.reports import policy_report
from tests.waiting import SECONDS

Start = Callable[..., Engine]
WILD = np.array([0.01, 100.0])
"""The range of a feature that matters, and of one that is noise."""


def scale_of(n_features: int, *, centred: bool = True) -> RunningScale:
    return RunningScale(n_features, adjusted=np.ones(n_features, dtype=np.bool_), centred=centred)


@given(seed=st.integers(0, 2**32 - 1), n_rankings=st.integers(1, 12))
@settings(max_examples=50, deadline=None, derandomize=True)
def test_what_is_seen_is_the_mean_and_the_spread_inside_rankings(seed: int, n_rankings: int) -> None:
    rng = np.random.default_rng(seed)
    rankings = [rng.normal(size=(int(rng.integers(1, 6)), 3)).astype(np.float32) for _ in range(n_rankings)]
    scale = scale_of(3)
    for shown in rankings:
        scale.observe(shown)
    values = np.vstack(rankings).astype(np.float64)
    inside = np.vstack([shown - shown.astype(np.float64).mean(axis=0) for shown in rankings])
    free = max(len(values) - n_rankings, 1)
    assert scale.mean == pytest.approx(values.mean(axis=0))
    assert scale.spread == pytest.approx(np.sqrt((inside**2).sum(axis=0) / free), abs=1e-9)
    assert scale.n_seen.tolist() == [len(values)] * 3


@given(seed=st.integers(0, 2**32 - 1), centred=st.booleans())
@settings(max_examples=50, deadline=None, derandomize=True)
def test_the_scale_in_force_limits_what_is_seen_and_shown_as_a_plain_twin_does(seed: int, centred: bool) -> None:
    rng = np.random.default_rng(seed)
    scale = scale_of(4, centred=centred)
    unit = 10.0 ** rng.normal(size=4)
    for _ in range(30):
        candidates = (rng.standard_t(1.5, size=(int(rng.integers(1, 12)), 4)) * unit).astype(np.float32)
        proposal = scale.proposal(candidates)
        if proposal is not None:
            scale.use(*proposal)
        reach = np.where(scale.known, MOST_SHOWN * scale.scale, np.inf)
        within = np.clip(candidates.astype(np.float64), scale.centre - reach, scale.centre + reach)
        assert np.array_equal(scale(candidates), (within - (scale.centre if centred else 0.0)) / scale.scale)
        most, middle = np.where(scale.known, MOST_SEEN * scale.scale, np.inf), np.median(candidates, axis=0)
        values = middle + np.clip(candidates - middle.astype(np.float64), -most, most)
        mean, n_seen, squares = scale.mean, scale.n_seen, np.square(scale.spread) * np.maximum(scale._n_free, 1.0)
        scale.observe(candidates)
        moved = np.clip(values.mean(axis=0) - mean, -most, most)
        assert scale.mean == pytest.approx(mean + moved * len(values) / (n_seen + len(values)), rel=1e-6)
        added = np.square(values - values.mean(axis=0)).sum(axis=0)
        assert scale.spread == pytest.approx(np.sqrt((squares + added) / np.maximum(scale._n_free, 1.0)), rel=1e-4)


def test_uniform_features_come_to_a_range_of_one_whatever_their_unit() -> None:
    candidates = (np.random.default_rng(0).random((5000, 2)) * WILD + 7).astype(np.float32)
    scale = scale_of(2)
    proposal = scale.proposal(candidates)
    assert proposal is not None
    scale.use(*proposal)
    seen = scale(candidates)
    assert np.ptp(seen, axis=0) == pytest.approx([1.0, 1.0], rel=0.03)
    assert np.median(seen, axis=0) == pytest.approx([0.0, 0.0], abs=1e-6)


def test_the_scale_in_force_moves_only_when_it_must() -> None:
    rng = np.random.default_rng(1)
    scale = scale_of(1)
    first = rng.random((50, 1)).astype(np.float32)
    scale.use(*scale.proposal(first))  # type: ignore[misc]
    for _ in range(100):
        scale.observe((1.3 * rng.random((5, 1))).astype(np.float32))
        assert scale.proposal(first) is None
    for _ in range(1000):
        scale.observe((100 * rng.random((5, 1))).astype(np.float32))
        moved = scale.proposal(first)
        if moved is not None:
            break
    assert moved is not None
    before, spread = scale.scale.copy(), RANGE * scale.spread
    assert spread[0] > DRIFT * before[0] and moved[1].tolist() == spread.tolist()
    assert scale.use(*moved) == pytest.approx(before / spread)
    assert scale.proposal(first) is None


def test_a_constant_feature_waits_for_its_scale_and_rounding_is_no_spread() -> None:
    scale = scale_of(2)
    constant = np.full((9, 2), 0.1, dtype=np.float32)
    constant[:, 1] = np.arange(9)
    scale.use(*scale.proposal(constant))  # type: ignore[misc]
    for _ in range(ENOUGH):
        scale.observe(constant)
    assert scale.spread[0] == 0.0 and scale.scale[0] == 1.0 and scale.proposal(constant) is None
    constant[0, 0] = 50.0
    found = scale.proposal(constant)
    assert found is not None and found[1][0] == pytest.approx(RANGE * np.std(constant[:, 0], ddof=1))
    assert found[1][1] == scale.scale[1]


def test_one_candidate_says_nothing_about_scale() -> None:
    assert scale_of(2).proposal(np.array([[3.0, 4.0]], dtype=np.float32)) is None


@pytest.mark.parametrize(
    ("policy", "adjusted", "centred"),
    [
        ({}, [True, False, False], True),
        ({"scaling": "none"}, [False, False, False], True),
        ({"scaling": "query"}, [False, False, False], True),
        ({"ranker": "fairco"}, [True, False, False], False),
        ({"ranker": "fixed", "parameters": {"weights": [1.0, 2.0, 3.0]}}, [False, False, False], False),
    ],
)
def test_what_the_policy_and_its_ranker_leave_open(
    started: Start, sqlite_address: str, policy: dict[str, Any], adjusted: list[bool], centred: bool
) -> None:
    features = ["a", Feature(name="b", scale=2.0), Feature(name="c", shift=1.0)]
    engine = started(sqlite_address)
    Changes(engine).put("shop", PolicySpec(features=features, groups={"x": 1.0, "y": 1.0}, **policy))
    scale = engine.policy("shop").runtime.scale
    assert scale.adjusted.tolist() == adjusted
    candidates = np.random.default_rng(0).random((6, 3)).astype(np.float32) + 5
    proposal = scale.proposal(candidates)
    assert (proposal is not None) == any(adjusted)
    if proposal is not None:
        scale.use(*proposal)
        assert (abs(scale(candidates)[:, 0].mean()) < 0.5) == centred


def test_numbers_for_the_groups_only_fixed_weights_stay_in_their_units(started: Start, sqlite_address: str) -> None:
    spec = PolicySpec(ranker="fixed", features=2, parameters={"weights": [1.0, 1000.0]})
    engine = started(sqlite_address)
    Changes(engine).put("shop", spec)
    rows = np.array([[5.0, 0.0], [0.0, 0.001], [0.0, 0.01]], dtype=np.float32)
    ranked = engine.rank("shop", lambda runtime: Candidates(["a", "b", "c"], None, rows))
    assert ranked.shown.ids == ["c", "a", "b"] and ranked.shown.scores == pytest.approx([10.0, 5.0, 1.0])


def quality(engine: Engine, rounds: int, *, n_last: int = 50, spoil: dict[int, float] | None = None) -> float:
    """How much of the best value the top of the list has in the last rounds: 1 is all of it, chance about a half."""
    rng = np.random.default_rng(5)
    found = []
    for number in range(rounds):
        rows = rng.random((20, 2))
        features = (rows * WILD).astype(np.float32)
        if spoil and number in spoil:
            features[0, 0] = spoil[number]
        ids = [str(index) for index in range(20)]
        ranked = engine.rank("shop", lambda runtime, x=features, ids=ids: Candidates(ids, None, runtime.scaling(x)))
        value = rows[ranked.shown.shown, 0]
        found.append(value[:3].mean() / np.sort(rows[:, 0])[-3:].mean())
        clicked = np.flatnonzero(rng.random(len(value)) < value**3).tolist()
        engine.learn(ranked.id, [GivenEvent(position=position) for position in clicked], final=True)
    return float(np.mean(found[-n_last:]))


@pytest.mark.parametrize(("ranker", "raw"), [("pairrank", 0.9), ("pdgd", 0.75)])
def test_wild_scales_are_learned_as_well_as_tame_ones(
    started: Start, tmp_path: object, ranker: str, raw: float
) -> None:
    """A feature that matters in [0, .01] beside noise in [0, 100], 300 rounds: nearly the best.

    Raw it is chance, but for PairRank, which comes to shrink each feature by how much it varies.
    """
    reached = {}
    for name, features in (
        ("running", ["useful", "noise"]),
        ("declared", [Feature(name="useful", scale=WILD[0]), Feature(name="noise", scale=WILD[1])]),
        ("none", ["useful", "noise"]),
    ):
        engine = started(f"{tmp_path}/{name}.db")
        scaling = "running" if name == "running" else "none"
        Changes(engine).put("shop", PolicySpec(ranker=ranker, features=features, length=10, seed=3, scaling=scaling))
        reached[name] = quality(engine, 300)
    assert reached["none"] < raw and min(reached["running"], reached["declared"]) > max(raw, 0.85), reached
    assert reached["running"] > reached["declared"] - 0.05, reached


@pytest.mark.parametrize(("number", "odd"), [(0, 3e38), (100, 1e9), (100, -999999.0)])
def test_a_value_that_is_wrong_ruins_nothing(started: Start, sqlite_address: str, number: int, odd: float) -> None:
    """One value that is far out, in the first request or later, costs neither the scale nor what is learned."""
    engine = started(sqlite_address)
    Changes(engine).put("shop", PolicySpec(ranker="pairrank", features=["useful", "noise"], length=10, seed=3))
    assert quality(engine, 300, spoil={number: odd}) > 0.9
    scale = engine.policy("shop").runtime.scale.scale
    assert np.all((scale > WILD / 5) & (scale < WILD * 5))


def test_some_values_that_stand_for_missing_do_not_set_the_scale() -> None:
    rng = np.random.default_rng(0)
    scale = scale_of(1)
    for _ in range(2000):
        values = rng.random((10, 1)).astype(np.float32)
        values[rng.random(10) < 0.03] = -999999.0
        moved = scale.proposal(values)
        if moved is not None:
            scale.use(*moved)
        scale.observe(values)
    assert 0.3 < scale.scale[0] < 3.0
    assert np.abs(scale(np.array([[-999999.0]], dtype=np.float32))).max() <= 10.5


def test_a_feature_that_changes_its_range_for_good_is_followed() -> None:
    rng = np.random.default_rng(0)
    scale = scale_of(1)
    for number in range(6000):
        values = (rng.random((10, 1)) * (1.0 if number < 3000 else 1000.0)).astype(np.float32)
        moved = scale.proposal(values)
        if moved is not None:
            scale.use(*moved)
        scale.observe(values)
    assert 1000 / DRIFT < scale.scale[0] < 1000 * DRIFT


def test_it_says_what_was_seen(started: Start, sqlite_address: str) -> None:
    engine = started(sqlite_address)
    Changes(engine).put("shop", PolicySpec(ranker="pairrank", features=["useful", "noise"], length=10, seed=3))
    quality(engine, 40, n_last=1)
    told = policy_report(engine.policy("shop"), kept=[])["features"]
    assert [each["feature"] for each in told] == ["useful", "noise"] and told[0]["seen"] == 400
    for each, width in zip(told, WILD, strict=True):
        assert 0.4 * width < each["mean"] < 0.9 * width  # of what was shown, and the useful are shown more
        assert each["spread"] == pytest.approx(width / RANGE, rel=0.45)
        assert each["scale"] == pytest.approx(width, rel=DRIFT - 1)


@pytest.mark.parametrize(
    "ranker",
    [
        *(
            "fairexp-pairrank",
            "pdgd",
            "pdgd-neural",
            "dbgd",
            "fairco",
            "p-mgd",
            "cps",
            "sim-mgd",
            "c-mgd",
            "nsgd",
            "dsp",
        ),
        *("fara", "mmf", "offr-c3-ucb"),
    ],
)
def test_the_log_alone_rebuilds_the_scale_bit_for_bit(started: Start, address: str, ranker: str) -> None:
    """Features that grow a thousandfold on the way, and feedback that comes after the scale has moved."""
    engine = started(address, settings={"snapshot_every": 10_000})
    spec = PolicySpec(ranker=ranker, features=3, groups={"x": 1.0, "y": 1.0}, length=4, tolerance=0.5, seed=2)
    Changes(engine).put("shop", spec)
    rng = np.random.default_rng(8)
    ids: list[str] = []
    scales = set()
    for number in range(120):
        rows = (rng.random((8, 3)) * 10 ** (number / 40)).astype(np.float32)
        asked = Candidates([f"d{index}" for index in range(8)], np.arange(8) % 2, rows)
        ids.append(engine.rank("shop", lambda runtime, asked=asked: asked).id)
        engine.learn(ids[int(rng.integers(len(ids)))], [GivenEvent(position=int(rng.integers(4)))], final=True)
        scales.add(engine.policy("shop").runtime.scale.scale.tobytes())
    assert 3 <= len(scales) <= 20  # it moved, and rarely
    state = engine.policy("shop").runtime.state()
    engine.writer.submit([]).result(SECONDS)
    loaded = load_policy(engine.store, engine.policy("shop").row, use_snapshots=False).runtime.state()
    assert loaded[0] == state[0] and first_difference(loaded[1], state[1]) is None
