"""The benchmarks' own rules: what passes, what is noise, what is a miss; and that every topic can be listed."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest

from benchmarks import __main__ as command
from benchmarks import harness
from benchmarks.beliefs import adversarial
from benchmarks.document import with_figures
from benchmarks.harness import Bar, Outcome, by_turns, compare, interval, resampled
from benchmarks.lines import Axes, chart
from benchmarks.reading import write_letor
from benchmarks.report import figure, write
from benchmarks.service import make_constant
from benchmarks.templates import kernel_call
from fairexp import PairRank, Query
from fairexp.lab.data import read_letor


def outcome(ratio, low, high, bar):
    return Outcome("a", "b", bar, ratio, low, high)


@pytest.mark.parametrize(
    ("ratio", "low", "high", "bar", "verdict"),
    [
        (1.9, 1.8, 2.2, Bar(2.0), "pass"),
        (2.1, 1.9, 2.2, Bar(2.0), "noise"),
        (2.3, 2.1, 2.5, Bar(2.0), "miss"),
        (21.0, 15.0, 25.0, Bar(20.0, at_most=False), "pass"),
        (19.0, 18.0, 20.5, Bar(20.0, at_most=False), "noise"),
        (15.0, 14.0, 16.0, Bar(20.0, at_most=False), "miss"),
    ],
)
def test_a_miss_counts_only_when_the_whole_interval_lies_beyond_the_bar(ratio, low, high, bar, verdict):
    assert outcome(ratio, low, high, bar).verdict == verdict


def test_only_a_narrow_miss_is_measured_again():
    assert outcome(3.0, 2.9, 3.1, Bar(2.0)).is_near_miss
    assert not outcome(40.0, 39.0, 41.0, Bar(2.0)).is_near_miss
    assert not outcome(1.9, 1.8, 2.0, Bar(2.0)).is_near_miss
    assert outcome(12.0, 11.0, 13.0, Bar(20.0, at_most=False)).is_near_miss


def test_faster_means_the_peer_takes_longer():
    ours, peer = np.full(20, 0.01), np.full(20, 0.05)
    assert compare("a", "b", Bar(2.0, at_most=False), ours, peer).ratio == pytest.approx(5.0)
    assert compare("a", "b", Bar(2.0), ours, peer).ratio == pytest.approx(0.2)


def test_turns_alternate_and_time_what_is_called(monkeypatch):
    called, now = [], 0.0

    def take(name, seconds):
        nonlocal now
        called.append(name)
        now += seconds

    monkeypatch.setattr(harness.time, "perf_counter", lambda: now)
    a, b = by_turns(lambda: take("a", 1.0), lambda: take("b", 5.0), turns=3, times=(2, 1))
    assert "".join(called) == "ab" + "aab" * 3
    assert a == pytest.approx([1.0] * 3) and b == pytest.approx([5.0] * 3)


def test_drift_that_hits_both_sides_cancels():
    rng = np.random.default_rng(1)
    drift = np.linspace(1.0, 3.0, 200)
    ours, floor = (scale * drift * rng.uniform(0.95, 1.05, size=200) for scale in (1.5, 1.0))
    low, high = interval(ours, floor)
    assert 1.35 < low < 1.5 < high < 1.65


def test_resampling_covers_the_statistic_and_nothing_far_away():
    values = np.random.default_rng(2).exponential(size=2000)
    low, high = resampled(values, lambda sample: float(np.percentile(sample, 50)))
    assert low < np.log(2) < high
    assert high - low < 0.2


def test_what_is_written_can_be_read_back(tmp_path):
    rows = [outcome(1.0, 0.9, 1.1, Bar(2.0)), outcome(3.0, 2.9, 3.1, Bar(2.0))]
    write(rows, tmp_path / "run.json", quick=True)
    read = json.loads((tmp_path / "run.json").read_text())
    assert [row["verdict"] for row in read["rows"]] == ["pass", "miss"]
    assert read["versions"]["numpy"] == np.__version__
    assert read["rows"][0]["bar"] == "at most 2x"


def test_every_topic_is_listed(capsys):
    assert command.main(["--list"]) == 0
    listed = capsys.readouterr().out
    for topic in command.TOPICS:
        assert f"\n{topic} " in f"\n{listed}"


def test_every_topic_says_what_it_measures():
    for name in command.TOPICS:
        parts = iter(import_module(f"benchmarks.{name}").parts(True))
        assert callable(next(parts)), name


def test_a_topic_that_breaks_does_not_take_the_others_with_it(monkeypatch, tmp_path, capsys):
    def judged(name, **_):
        if name == "update":
            raise ZeroDivisionError("by the floor")
        return [replace(outcome(1.0, 0.9, 1.1, Bar(2.0)), what=name)]

    monkeypatch.setattr(command, "judged", judged)
    monkeypatch.setattr(command, "place", lambda: tmp_path / "whole.json")
    assert command.main([]) == 1
    told = capsys.readouterr().out
    assert "by the floor" in told and "broken: update" in told and "storage" in told
    assert not (tmp_path / "whole.json").exists()
    assert command.main(["--out", str(tmp_path / "some.json")]) == 1
    assert len(json.loads((tmp_path / "some.json").read_text())["rows"]) == len(command.TOPICS) - 1
    assert command.main(["--only", "rank", "storage"]) == 0


def test_the_constant_ranker_takes_what_rankers_take():
    ranker = PairRank(2, length=3, seed=0)
    make_constant(ranker)
    query = Query(np.eye(4)[:, :2])
    rankings = [ranker.rank(query, length=2, exposure=[1.0, 0.5]) for _ in range(3)]
    assert [ranking.number for ranking in rankings] == [0, 1, 2] and ranker.n_ranked == 3
    assert all(np.array_equal(ranking.shown, rankings[0].shown) for ranking in rankings)


def test_figures_have_three_digits():
    assert [figure(x) for x in (0.01234, 0.5, 2.0, 45.67, 1234.5)] == ["0.0123", "0.500", "2.00", "45.7", "1,234"]


def test_generated_text_has_the_shape_it_says(tmp_path):
    megabytes = write_letor(tmp_path / "a.txt", megabytes=0.3, n_features=20)
    data = read_letor(tmp_path / "a.txt", cache=False)
    assert (tmp_path / "a.txt").stat().st_size == pytest.approx(megabytes * 1e6)
    assert data.n_features == 20
    assert 60 < data.n_documents / data.n_queries < 240


def test_adversarial_beliefs_repeat_and_are_consistent():
    first, again = adversarial(5, 3, count=4), adversarial.__wrapped__(5, 3, count=4)
    assert all(np.array_equal(a.spent, b.spent) for a, b in zip(first, again, strict=True))
    for case in first:
        assert not (case.certain_order & case.certain_order.T).any()
        assert case.solve("draw").shown.shape == (5,)


def test_the_kernel_alone_finds_what_the_public_function_finds():
    case = replace(adversarial(4, 2, count=1)[0], tolerance=1.0)
    assert np.array_equal(kernel_call(case)()[0], case.solve("draw").shown)


def test_a_chart_has_a_line_for_each_series():
    points = [{"x": x, "series": name, "value": x * y} for name, y in (("a", 1.0), ("b", 2.0)) for x in (1, 10)]
    drawn = chart(points, Axes("title", "subtitle", "n", "ms")).to_dict(validate=False)
    assert drawn["layer"][0]["encoding"]["color"]["scale"]["domain"] == ["a", "b"]
    assert len(set(drawn["layer"][0]["encoding"]["color"]["scale"]["range"])) == 2


def test_figures_go_between_the_marks_of_the_page(tmp_path):
    write([outcome(1.5, 1.4, 1.6, Bar(2.0))], tmp_path / "run.json", quick=False)
    read = json.loads((tmp_path / "run.json").read_text())
    run = {**read, "cpu": "A", "date": "2026-02-01"}
    other = {**run, "cpu": "B", "date": "2026-01-01", "rows": [{**run["rows"][0], "ratio": 2.5, "verdict": "miss"}]}
    other["rows"].append({**run["rows"][0], "what": "c", "verdict": "noise"})
    page = "before\n<!-- figures: begin -->\nold\n<!-- figures: end -->\nafter\n"
    made = with_figures(page, [run, other])
    assert made.startswith("before\n") and made.endswith("after\n")
    assert "old" not in made
    assert "| what | against | bar | A, 2026-02-01 | B, 2026-01-01 |" in made
    assert "| a | b | at most 2x | 1.50x (1.40 – 1.60) | **2.50x (1.40 – 1.60), miss** |" in made
    assert "| c | b | at most 2x |  | 1.50x (1.40 – 1.60), noise |" in made
    assert with_figures(made, [run, other]) == made
