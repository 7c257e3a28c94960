"""Several charts side by side in one figure, and figures into PNG, SVG and PDF."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fairexp.charts.extra import vl_convert
from fairexp.charts.save import SCALE

Spec = dict[str, Any]
_OUTSIDE = ("$schema", "config", "background", "padding", "datasets")


def side_by_side(specs: Sequence[Spec], *, title: str | None = None) -> Spec:
    """The Vega-Lite definition of charts, given by theirs, in a row and under one title."""
    inner = [{key: value for key, value in spec.items() if key not in _OUTSIDE} for spec in specs]
    whole: Spec = {key: specs[0][key] for key in ("$schema", "config", "background", "padding") if key in specs[0]}
    whole["hconcat"] = inner
    whole["spacing"] = 40
    datasets: dict[str, Any] = {}
    for spec in specs:
        datasets.update(spec.get("datasets", {}))
    if datasets:
        whole["datasets"] = datasets
    if title is not None:
        whole["title"] = {"text": title, "anchor": "start", "fontSize": 18, "offset": 18}
    return whole


def save_figures(figures: Mapping[str, Spec], folder: Path) -> list[Path]:
    """Draw each figure to NAME.png, NAME.svg and NAME.pdf in `folder`; the files written."""
    converter = vl_convert()
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for name, spec in figures.items():
        paths = {ending: folder / f"{name}.{ending}" for ending in ("png", "svg", "pdf")}
        paths["png"].write_bytes(converter.vegalite_to_png(spec, scale=SCALE))
        paths["svg"].write_text(converter.vegalite_to_svg(spec), encoding="utf-8")
        paths["pdf"].write_bytes(converter.vegalite_to_pdf(spec))
        written += paths.values()
    return written
