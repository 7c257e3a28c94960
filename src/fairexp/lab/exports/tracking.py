"""Runs in MLflow, where that is installed: settings, curves by round, what they came to, and their files.

MLflow decides where they go (`MLFLOW_TRACKING_URI`, `MLFLOW_EXPERIMENT_NAME`), as for every other client of it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any

from fairexp.errors import ArgumentError, MissingExtraError
from fairexp.lab.simulation.result import Result
from fairexp.lab.simulation.settings import RunSettings

MLFLOW = "mlflow"
NO_CURVES = ("round", "query")
"""Columns of a trace that say where a row belongs."""
REMEDY = "Give the URL of a server, or file:///FOLDER with MLFLOW_ALLOW_FILE_STORE=true, or install all of mlflow."
LONGEST = 500
"""Letters of a parameter's value that MLflow keeps."""


class Tracker:
    """Hands runs on to `client`, the module `mlflow` or what looks like it."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def log_runs(
        self, runs: Sequence[RunSettings], results: Sequence[Result | None], *, folder: Path | None = None
    ) -> str:
        """Log each run that has begun; `folder` is where their files lie. Returns where they are tracked."""
        for settings, result in zip(runs, results, strict=True):
            if result is not None and result.rounds:
                alone = len(runs) == 1
                place = None if folder is None else folder if alone else folder / settings.label
                self._log(settings, result, place)
        return str(self._client.get_tracking_uri())

    def _log(self, settings: RunSettings, result: Result, place: Path | None) -> None:
        with self._client.start_run(run_name=settings.label):
            self._client.log_params({key: str(value)[:LONGEST] for key, value in _flat(asdict(settings)).items()})
            self._client.set_tags({"ranker": settings.ranker, "user": settings.user, "data": settings.data.source})
            for row in result.points:
                told = {key: value for key, value in row.items() if key not in NO_CURVES}
                curve = {key: value for key, value in told.items() if isinstance(value, int | float)}
                self._client.log_metrics(_named(curve), step=row["round"])
            final = {measure.name: value for measure, value in result.measures.items() if value is not None}
            self._client.log_metrics(_named(final), step=result.rounds)
            if place is not None:
                self._client.log_artifacts(str(place))


def find_tracker(name: str) -> Tracker:
    """The tracker of this name: there is one."""
    if name != MLFLOW:
        raise ArgumentError("--track", repr(name), MLFLOW)
    try:
        client = import_module(MLFLOW)
    except ImportError as error:
        message = "--track mlflow: MLflow is not installed; run: pip install 'fairexp[mlflow]'"
        raise MissingExtraError(message) from error
    try:
        client.search_experiments(max_results=1)
    except Exception as error:  # of its own or of whatever is behind it: better before the runs than after
        given = f"{client.get_tracking_uri()}, which MLflow cannot use ({error})"
        raise ArgumentError("MLFLOW_TRACKING_URI", given, "a store that it can", REMEDY) from error
    return Tracker(client)


def _flat(values: dict[str, Any], before: str = "") -> dict[str, Any]:
    """Nested settings with dots between their names; those that are not set are left out."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, dict):
            flat.update(_flat(value, f"{before}{key}."))
        elif value is not None and value != ():
            flat[f"{before}{key}"] = value
    return flat


def _named(values: dict[str, Any]) -> dict[str, float]:
    """Measures under names that MLflow allows and takes for no folder: `nDCG@10` is `nDCG at 10`."""
    spoken = {key.replace("@", " at ").replace("/", " per "): value for key, value in values.items()}
    return {re.sub(r"[^\w\-. :]", "", key): float(value) for key, value in spoken.items()}
