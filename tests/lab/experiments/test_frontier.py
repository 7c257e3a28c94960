from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from fairexp.arrays import Floats
from fairexp.errors import ArgumentError
from fairexp.lab.experiments.frontier.lines import Line, Point, lines_of
from fairexp.lab.experiments.frontier.tables import frontier_record
from fairexp.lab.experiments.frontier.verdicts import AHEAD, BEHIND, NOT_REACHED, OPEN, frontiers, holders, judged
from fairexp.lab.experiments.plan.sweeps import sweeps
from fairexp.lab.experiments.report.frontier_section import frontier_section, summary
from fairexp.measures import MAX_UF
from tests.lab.experiments.conftest import small
from tests.lab.experiments.made_up import made_up

PAIRS = [(seed, 1) for seed in range(6)]


def point(ranker: str, online: float, gap: float, *, noise: float = 0.0, seed: int = 0) -> Point:
    """A point of six seeds whose means are as given."""
    off = np.random.default_rng(seed).normal(size=len(PAIRS))
    off -= off.mean()
    shared = [0.0, 5.0, -5.0, 3.0, -3.0, 0.0]
    values = {pair: online + shared[i] + noise * off[i] for i, pair in enumerate(PAIRS)}
    return Point(ranker, None, values, dict.fromkeys(PAIRS, gap))


def line(ranker: str, *points: tuple[float, float], noise: float = 0.0) -> Line:
    """A line through (unfairness, online NDCG)."""
    made = [point(ranker, online, gap, noise=noise, seed=i) for i, (gap, online) in enumerate(points)]
    return Line(ranker, made)


def test_between_points_it_is_linear_over_the_logarithm_and_beyond_them_nothing_is_made_up() -> None:
    own = line("a", (1.0, 100.0), (100.0, 120.0))
    for gap, expected in ((1.0, 100.0), (10.0, 110.0), (100.0, 120.0), (5000.0, 120.0)):
        values = own.at(math.log(gap))
        assert values is not None and np.mean(list(values.values())) == pytest.approx(expected)
        assert own.heights(np.array([math.log(gap)]))[0] == pytest.approx(expected)
    assert own.at(math.log(0.9)) is None and own.heights(np.array([math.log(0.9)]))[0] == -np.inf


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(1, 9), st.integers(10, 19)), min_size=1, max_size=8, unique=True))
def test_the_frontier_is_what_nothing_of_its_own_beats(places: list[tuple[int, int]]) -> None:
    own = line("a", *places)
    brute = {
        (gap, online)
        for gap, online in places
        if not any(g <= gap and o >= online for g, o in places if (g, o) != (gap, online))
    }
    assert {(one.gap.mean, one.quality.mean) for one in own.frontier} == brute
    assert [one.level for one in own.frontier] == sorted(one.level for one in own.frontier)


def test_verdicts_at_the_rivals_unfairness() -> None:
    reference = line("fairexp-pairrank", (1.0, 100.0), (100.0, 120.0), noise=0.3)
    rival = line("fairco", (0.5, 50.0), (10.0, 105.0), (50.0, 117.0), (200.0, 130.0), noise=0.3)
    found = judged("x/y", MAX_UF, [reference, rival])
    assert [one.verdict for one in found] == [NOT_REACHED, AHEAD, OPEN, BEHIND]
    assert found[0].difference is None and found[0].reference is None
    assert found[1].difference is not None and found[1].difference.mean == pytest.approx(5.0)
    assert found[3].difference is not None and found[3].difference.mean == pytest.approx(-10.0)


def test_the_share_of_the_frontier_by_hand() -> None:
    """On a scale from 1 to 10,000: one alone up to 10, the other from where it starts, as it is always higher."""
    low, high = line("a", (1.0, 10.0), (100.0, 20.0)), line("b", (10.0, 50.0), (10_000.0, 60.0))
    held = {one.ranker: one for one in holders("x/y", MAX_UF, [low, high])}
    assert held["a"].share == pytest.approx(0.25, abs=0.001) and held["b"].share == pytest.approx(0.75, abs=0.001)
    assert held["a"].spans[0] == pytest.approx((1.0, 10.0), rel=0.01)
    crossing = [line("a", (1.0, 20.0), (100.0, 20.0)), line("b", (1.0, 10.0), (100.0, 30.0))]
    assert [one.share for one in holders("x/y", MAX_UF, crossing)] == pytest.approx([0.5, 0.5], abs=0.01)


def test_a_report_with_a_sweep_has_the_section() -> None:
    results = made_up()
    found = frontiers(results)
    assert {one.setting for one in found} == {"pagerank/navigational", "inlinks/navigational"}
    first = lines_of(results, "pagerank/navigational", MAX_UF)
    assert [each.ranker for each in first] == ["fairexp-pairrank", "fairco"]
    assert [one.value for one in first[0].points] == [0.05, 0.1, 5.0] and first[1].points[0].value is None
    section = frontier_section(results, found, [])
    assert section is not None and [one.title for one in section.settings] == [
        f"{data} (synthetic world), navigational users" for data in ("pagerank", "inlinks")
    ]
    assert summary(found).startswith(
        "On largest unfairness FairExp-PairRank has at least the NDCG of its rivals at 2 of 2"
    )
    record = frontier_record(results, found)
    assert all(row["verdict"] == AHEAD for row in record["frontier_verdicts"] if row["measure"] == "max UF")
    assert frontier_section(results, [], []) is None


def test_rivals_are_swept_over_what_they_declare_or_what_is_given() -> None:
    def swept(rivals: dict[str, list[float]]) -> dict[str, tuple[str, tuple[float, ...]]]:
        sweep = {"ranker": "fairexp-pairrank", "values": [1], "rivals": rivals}
        return {label: (one.parameter, one.values) for label, one in sweeps(small(sweep=sweep)).items()}

    assert swept({"fairco": []}) == {
        "fairexp-pairrank": ("tolerance", (1.0,)),
        "fairco": ("control", (0.0, 0.001, 0.01, 0.1, 1.0)),
    }
    assert swept({"fairco": [3]})["fairco"] == ("control", (3.0,))
    with pytest.raises(ArgumentError, match=r"sweep.rivals.pdgd.*fair ranker"):
        swept({"pdgd": []})
    with pytest.raises(ArgumentError, match=r"sweep.rivals.*nobody"):
        swept({"nobody": []})


@pytest.mark.parametrize("n_seeds", [3, 10])
@pytest.mark.parametrize("slope", [0.0, 2.0, 10.0])
def test_chance_puts_a_ranker_ahead_or_behind_as_rarely_as_the_level_says(slope: float, n_seeds: int) -> None:
    """Two rankers of one curve, at other points of it, whose NDCG and unfairness are both measured with noise."""
    rng, repetitions, alarms = np.random.default_rng(3), 300, 0
    pairs = [(seed, 1) for seed in range(n_seeds)]
    for _ in range(repetitions):
        difficulty = rng.normal(size=n_seeds)

        def drawn(ranker: str, levels: range, shift: float, difficulty: Floats = difficulty) -> Line:
            points = []
            for level in (number + shift for number in levels):
                online = 100.0 + slope * level + difficulty + rng.normal(size=n_seeds)
                gaps = np.exp(level + 0.1 * rng.normal(size=n_seeds))
                online_of, gap_of = (dict(zip(pairs, map(float, each), strict=True)) for each in (online, gaps))
                points.append(Point(ranker, level, online_of, gap_of))
            return Line(ranker, points)

        lines = [drawn("fairexp-pairrank", range(7), 0.0), drawn("fairco", range(6), rng.uniform(0.1, 0.9))]
        alarms += any(one.verdict in (AHEAD, BEHIND) for one in judged("x/y", MAX_UF, lines))
    assert alarms <= stats.binom.isf(1e-4, repetitions, 0.05)
