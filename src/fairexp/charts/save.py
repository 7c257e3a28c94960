"""Charts into files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairexp.charts.extra import vl_convert

SCALE = 2.0
"""Pixels per unit in PNG: sharp on screens of high density, and in print at half a page."""


def save_charts(charts: Mapping[str, Any], folder: Path) -> list[Path]:
    """Draw each chart to NAME.png and NAME.svg in `folder`; the files written."""
    converter = vl_convert()
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, chart in charts.items():
        spec = chart.to_dict(validate=False)
        picture, drawing = folder / f"{name}.png", folder / f"{name}.svg"
        picture.write_bytes(converter.vegalite_to_png(spec, scale=SCALE))
        drawing.write_text(converter.vegalite_to_svg(spec), encoding="utf-8")
        written += [picture, drawing]
    return written
