from __future__ import annotations

from fairexp.charts.rows import over_seeds


def test_missing_measurements_do_not_count() -> None:
    rows = [{"ranker": "a", "round": 1, "seed": seed, "heldout": value} for seed, value in ((0, 0.5), (1, None))]
    assert [(point["value"], point["seeds"]) for point in over_seeds(rows, "heldout")] == [(0.5, 1)]
