from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from fairexp.charts import frontier_chart
from fairexp.charts.drawing import HEIGHT, LINE_OF_TEXT, WIDTH
from fairexp.charts.frontier import LETTER
from fairexp.errors import ArgumentError
from fairexp.measures import MAX_UF

pytest.importorskip("altair")


def row(ranker: str, online: float, unfairness: float, value: float | None = None, **what: Any) -> dict[str, Any]:
    ends = {"low": online - 3, "high": online + 3}
    return {"ranker": ranker, "value": value, "online": online, "unfairness": unfairness, "kept": True, **ends, **what}


def drawn(rows: list[dict[str, Any]]) -> dict[str, Any]:
    chart: dict[str, Any] = frontier_chart(rows, MAX_UF, title="Some data").to_dict(validate=False)
    return chart


def texts(chart: dict[str, Any], field: str) -> list[dict[str, Any]]:
    """The values of the text layer that shows `field`."""
    for layer in chart["layer"]:
        if layer["mark"]["type"] == "text" and layer["encoding"]["text"]["field"] == field:
            return layer["data"]["values"]  # type: ignore[no-any-return]
    return []


def domain(chart: dict[str, Any], axis: str) -> tuple[float, float]:
    """From where to where an axis goes."""
    scales = [layer["encoding"][axis].get("scale", {}) for layer in chart["layer"]]
    low, high = next(scale["domain"] for scale in scales if "domain" in scale)
    return low, high


def boxes(chart: dict[str, Any]) -> list[tuple[float, float, float, float]]:
    """Where every number beside a point lies, in pixels: left, bottom, right, top."""
    (low, high), (bottom, top) = (domain(chart, axis) for axis in "xy")
    found = []
    for text in texts(chart, "text"):
        x = WIDTH * 1.25 * math.log(text["unfairness"] / low) / math.log(high / low)
        y = HEIGHT * (text["online"] - bottom) / (top - bottom)
        wide, tall = LETTER * len(text["text"]) / 2, 5.5
        found.append((x - wide, y - tall, x + wide, y + tall))
    return found


@pytest.mark.parametrize("seed", range(12))
def test_no_label_covers_another(seed: int) -> None:
    """Crowded on purpose: most points lie within a few pixels of each other."""
    rng = np.random.default_rng(seed)
    names = ["fairexp-pairrank", "fairco", "fara", "mmf", "p-mmf", "mcfair", "offr", "xquad", "ears", "offr-pairrank"]
    rows = [
        row(name, 300 + 40 * rng.random() ** 3, 10 ** (2 * rng.random() ** 2), value)
        for name in names
        for value in (0.01, 0.1, 1, 10, 100)
    ]
    chart = drawn(rows)
    heights = sorted(text["height"] for text in texts(chart, "name"))
    low, high = domain(chart, "y")
    assert len(heights) == len(names)
    assert min(np.diff(heights)) >= 0.99 * LINE_OF_TEXT / HEIGHT * (high - low)
    for one, two in combinations(boxes(chart), 2):
        apart = one[0] >= two[2] or two[0] >= one[2] or one[1] >= two[3] or two[1] >= one[3]
        assert apart, (one, two)


def test_numbers_of_the_first_ranker_and_names_of_all_are_shown() -> None:
    rows = [row("fairexp-pairrank", 70, 1, 0.1), row("fairexp-pairrank", 80, 90, 5), row("fairco", 60, 30, 0.5)]
    chart = drawn(rows)
    assert {text["text"] for text in texts(chart, "text")} == {"0.1", "5"}
    assert {text["name"] for text in texts(chart, "name")} == {"FairExp-PairRank", "FairCo"}
    assert "largest unfairness" in str(chart["layer"][2]["encoding"]["x"]["title"])


def test_what_the_same_ranker_beats_is_faint_and_no_part_of_its_line() -> None:
    rows = [row("fairco", 70, 1, 1), row("fairco", 60, 5, 2, kept=False), row("fairco", 80, 9, 3)]
    layers = drawn(rows)["layer"]
    lines = [layer for layer in layers if layer["mark"]["type"] == "line"]
    faint = [layer for layer in layers if layer["mark"]["type"] == "point" and layer["mark"]["opacity"] < 1]
    assert [value["online"] for layer in lines for value in layer["data"]["values"]] == [70, 80]
    assert [value["online"] for layer in faint for value in layer["data"]["values"]] == [60]


def test_one_run_has_no_intervals_and_nothing_is_no_chart() -> None:
    bare = row("fairexp-pairrank", 5.0, 0.0, 1.0, low=None, high=None)
    assert texts(drawn([bare]), "name")[0]["online"] == 5.0
    with pytest.raises(ArgumentError, match="rows"):
        frontier_chart([], MAX_UF, title="nothing")
