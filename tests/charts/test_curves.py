from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from fairexp.charts import Manner, charts, heldout_chart, online_chart, save_charts, unfairness_chart
from fairexp.charts.drawing import HEIGHT, LINE_OF_TEXT
from fairexp.charts.labels import Axis
from fairexp.charts.style import FAIR_COLOURS, display_name, looks
from fairexp.errors import ArgumentError
from fairexp.measures import IRRELEVANT

RANKERS = ("pairrank", "fairexp-pairrank", "fairco", "pdgd", "dbgd")


def rows(rankers: tuple[str, ...] = RANKERS, *, seeds: int = 2) -> list[dict[str, Any]]:
    return [
        {
            "ranker": ranker,
            "user": "perfect",
            "seed": seed,
            "round": at,
            "mean online nDCG@10": 0.3 + 0.01 * number + 0.001 * seed + 0.0001 * at,
            "held-out nDCG@10": 0.4 + 0.01 * number + 0.001 * seed,
            "UF": 0.05 if "fairexp" in ranker else 0.4 * at * (number + 1),
            "max UF": 2.25 if "fairexp" in ranker else 0.4 * at * (number + 1),
        }
        for number, ranker in enumerate(rankers)
        for seed in range(seeds)
        for at in (1, *range(10, 501, 10))
    ]


def layers(chart: Any) -> list[dict[str, Any]]:
    """The layers with their data in place, of a chart that survives Vega-Lite's schema."""
    spec = chart.to_dict()
    datasets = spec.get("datasets", {})
    for layer in spec["layer"]:
        data = layer.get("data") or spec.get("data", {})
        layer["values"] = data.get("values", datasets.get(data.get("name"), []))
    return list(spec["layer"])


def kind(layer: dict[str, Any]) -> str:
    mark = layer["mark"]
    return str(mark["type"] if isinstance(mark, dict) else mark)


def texts(drawn: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [label for layer in drawn if kind(layer) == "text" for label in layer["values"]]


@pytest.mark.parametrize("make", [online_chart, heldout_chart, unfairness_chart])
def test_every_series_has_a_line_a_dash_a_marker_and_a_name(make: Any) -> None:
    drawn = layers(make(rows()))
    lines = [layer for layer in drawn if kind(layer) == "line" and "transform" in layer]
    filters = " ".join(layer["transform"][0]["filter"] for layer in lines)
    assert [filters.count(json.dumps(ranker)) for ranker in RANKERS] == [1] * 5
    assert {point["ranker"] for point in lines[0]["values"]} == set(RANKERS)
    dashes = lines[0]["encoding"]["strokeDash"]["scale"]["range"]
    (points,) = [layer for layer in drawn if kind(layer) == "point"]
    shapes = points["encoding"]["shape"]["scale"]["range"]
    colours = points["encoding"]["color"]["scale"]["range"]
    for trait in (map(tuple, dashes), shapes, colours):
        assert len(set(trait)) == 5
    names = {label["text"] for label in texts(drawn)}
    assert {"PairRank", "FairExp-PairRank", "FairCo", "PDGD", "DBGD"} <= names


def test_fairexp_is_the_thickest_line_and_lies_on_top() -> None:
    lines = [layer for layer in layers(online_chart(rows())) if kind(layer) == "line"]
    widths = [layer["mark"]["strokeWidth"] for layer in lines]
    assert "fairexp-pairrank" in lines[-1]["transform"][0]["filter"]
    assert widths == [1.8, 3.6]


def test_lines_are_means_over_seeds_and_bands_span_them() -> None:
    (band,) = [layer for layer in layers(heldout_chart(rows(("pdgd",)))) if kind(layer) == "area"]
    point = band["values"][0]
    assert (point["low"], point["high"]) == (0.4, 0.401)
    assert point["value"] == pytest.approx(0.4005)
    assert band["encoding"]["y"]["field"] == "low" and band["encoding"]["y2"]["field"] == "high"


def test_names_at_line_ends_do_not_overlap() -> None:
    drawn = layers(unfairness_chart(rows()))
    domain = next(layer for layer in drawn if kind(layer) == "line")["encoding"]["y"]["scale"]["domain"]
    axis = Axis(domain[0], domain[1], constant=0.1)
    heights = sorted(HEIGHT * axis.position(label["value"]) for label in texts(drawn))
    assert len(heights) == 6  # five rankers and the tolerance
    assert min(b - a for a, b in pairwise(heights)) >= LINE_OF_TEXT - 1e-6


def test_the_tolerance_is_shaded_named_and_a_tick_on_a_scale_for_small_and_large() -> None:
    drawn = layers(unfairness_chart(rows(), tolerance=0.2))
    (band,) = [layer for layer in drawn if kind(layer) == "rect"]
    assert band["values"] == [{"low": 0.0, "high": 0.2}]
    assert "tolerance 0.2" in [label["text"] for label in texts(drawn)]
    y = next(layer for layer in drawn if kind(layer) == "line")["encoding"]["y"]
    assert y["scale"]["type"] == "symlog" and y["scale"]["constant"] == 0.2
    assert y["axis"]["values"] == [0.0, 0.2, 1.0, 10.0, 100.0, 1000.0]


@pytest.mark.parametrize(
    ("make", "word"), [(online_chart, "higher"), (heldout_chart, "higher"), (unfairness_chart, "lower")]
)
def test_titles_say_what_is_better(make: Any, word: str) -> None:
    assert f"{word} is better" in " ".join(make(rows()).to_dict()["title"]["subtitle"])


def test_no_value_lies_outside_the_axis() -> None:
    for chart in charts(rows()).values():
        drawn = layers(chart)
        line = next(layer for layer in drawn if kind(layer) == "line")
        low, high = line["encoding"]["y"]["scale"]["domain"]
        assert all(low <= point["low"] and point["high"] <= high for point in line["values"])


def test_the_gap_itself_is_drawn_and_the_largest_is_a_dotted_line_with_its_label() -> None:
    chart = unfairness_chart(rows())
    dotted, *lines = [layer for layer in layers(chart) if kind(layer) == "line"]
    fair = [point["value"] for point in lines[-1]["values"] if point["ranker"] == "fairexp-pairrank"]
    assert set(fair) == {0.05}  # and not the 2.25 of some round before
    assert {point["value"] for point in dotted["values"] if point["ranker"] == "fairexp-pairrank"} == {2.25}
    assert dotted["mark"]["strokeDash"] and dotted["mark"]["strokeWidth"] < lines[0]["mark"]["strokeWidth"]
    assert "dotted: the largest so far" in " ".join(chart.to_dict()["title"]["subtitle"])


def test_what_rows_do_not_tell_has_no_dotted_line() -> None:
    bare = [{key: value for key, value in row.items() if key != "max UF"} for row in rows()]
    chart = unfairness_chart(bare)
    assert all("transform" in layer for layer in layers(chart) if kind(layer) == "line")
    assert "dotted" not in " ".join(chart.to_dict()["title"]["subtitle"])


@pytest.mark.parametrize("make", [online_chart, heldout_chart])
def test_charts_of_ndcg_say_their_rule(make: Any) -> None:
    told = {rule: make(rows(), Manner(irrelevant=rule)).to_dict()["title"]["subtitle"][-1] for rule in IRRELEVANT}
    assert told == IRRELEVANT


def test_the_fair_ranker_is_emphasised_whatever_it_is_called() -> None:
    renamed = [{**row, "ranker": row["ranker"].replace("fairexp-pairrank", "mine")} for row in rows()]
    lines = [layer for layer in layers(online_chart(renamed, Manner(fair="mine"))) if kind(layer) == "line"]
    assert '"mine"' in lines[-1]["transform"][0]["filter"] and lines[-1]["mark"]["strokeWidth"] == 3.6


def test_measures_that_nobody_took_have_no_chart() -> None:
    bare = [{**row, "held-out nDCG@10": None, "UF": None, "max UF": None} for row in rows()]
    assert list(charts(bare)) == ["online-ndcg"]
    with pytest.raises(ArgumentError, match="none with held-out nDCG@10"):
        heldout_chart(bare)


def test_png_and_svg_are_drawn_from_the_same_charts(tmp_path: Path) -> None:
    written = save_charts(charts(rows()), tmp_path / "new")
    assert [path.name for path in written] == [
        f"{name}.{ending}" for name in ("online-ndcg", "heldout-ndcg", "unfairness") for ending in ("png", "svg")
    ]
    for picture, drawing in zip(written[::2], written[1::2], strict=True):
        assert picture.read_bytes().startswith(b"\x89PNG")
        assert all(name in drawing.read_text() for name in ("FairExp-PairRank", "DBGD"))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_looks_differ_without_colour(theme: str) -> None:
    many = [*RANKERS, "random", "oracle", "fixed", "fairexp-oracle"]
    found = looks(many, theme)
    assert len({(look.dash, look.marker) for look in found.values()}) == len(many)
    assert found["fairexp-pairrank"].colour == FAIR_COLOURS[theme]


def test_colours_stand_out_from_their_background() -> None:
    from fairexp.charts.style import PAPER

    for theme in ("light", "dark"):
        fair = looks(["fairexp-pairrank"], theme)["fairexp-pairrank"].colour
        assert contrast(fair, PAPER[theme]) > 4.5
        for look in looks(list(RANKERS), theme).values():
            assert contrast(look.colour, PAPER[theme]) > 2


def contrast(one: str, other: str) -> float:
    """The contrast ratio of WCAG 2."""

    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else math.pow((part + 0.055) / 1.055, 2.4) for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_published_names() -> None:
    assert [display_name(name) for name in ("random", "fairexp-oracle", "a.b:C")] == [
        "RandomRanker",
        "FairExp-Oracle",
        "C",
    ]
