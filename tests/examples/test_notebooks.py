"""The notebooks of `examples/` run from top to bottom, draw what they show, and are kept without outputs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.waiting import SECONDS

EXAMPLES = Path(__file__).parents[2] / "examples"
NOTEBOOKS = sorted(path.name for path in EXAMPLES.glob("*.ipynb"))


def test_there_are_three() -> None:
    assert NOTEBOOKS == ["first-steps.ipynb", "own-data.ipynb", "own-ranker.ipynb"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_runs_and_draws(name: str, tmp_path: Path) -> None:
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    notebook = nbformat.read(EXAMPLES / name, as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in cells), "kept without outputs"
    place = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=600, startup_timeout=int(SECONDS), resources=place).execute()
    outputs = [output for cell in cells for output in cell.outputs]
    drawn = [output for output in outputs if "vega" in output.get("data", {}).get("text/html", "")]
    assert drawn and not [output for output in outputs if output.get("name") == "stderr"]
