from __future__ import annotations

from typing import Any

import pytest

from fairexp.charts import frontier_chart
from fairexp.charts.drawing import HEIGHT, LINE_OF_TEXT
from fairexp.errors import ArgumentError

pytest.importorskip("altair")


def row(online: float, unfairness: float, **what: Any) -> dict[str, Any]:
    return {"online nDCG@10": online, "mean UF": unfairness, "low": online - 3, "high": online + 3, **what}


def drawn(swept: list[dict[str, Any]], others: list[dict[str, Any]]) -> dict[str, Any]:
    chart: dict[str, Any] = frontier_chart(swept, others, title="Some data").to_dict(validate=False)
    return chart


def placed(chart: dict[str, Any]) -> dict[str, float]:
    """The height of every name."""
    texts = [layer for layer in chart["layer"] if layer["mark"]["type"] == "text"]
    return {value["name"]: value["height"] for layer in texts for value in layer["data"]["values"]}


def test_names_of_points_that_coincide_are_moved_apart_and_others_stay() -> None:
    swept = [row(70.0, 1.0, tolerance=0.05), row(70.1, 1.01, tolerance=0.1), row(75.0, 9.0, tolerance=10)]
    others = [row(72.0, 40.0, ranker="pdgd"), row(72.0, 41.0, ranker="dbgd"), row(76.0, 3.0, ranker="fairco")]
    chart = drawn(swept, others)
    heights = placed(chart)
    low, high = chart["layer"][0]["encoding"]["y"]["scale"]["domain"]
    line = LINE_OF_TEXT / HEIGHT * (high - low)
    assert abs(heights["0.05"] - heights["0.1"]) >= 0.99 * line
    assert abs(heights["PDGD"] - heights["DBGD"]) >= 0.99 * line
    assert heights["10"] == pytest.approx(75.0) and heights["FairCo"] == pytest.approx(76.0)
    assert low < 67 and high > 79


def test_one_run_has_no_intervals() -> None:
    bare = {"online nDCG@10": 5.0, "mean UF": 2.0, "low": None, "high": None, "tolerance": 1.0}
    assert placed(drawn([bare], [])) == {"1": 5.0}
    with pytest.raises(ArgumentError, match="swept"):
        frontier_chart([], [], title="nothing")
