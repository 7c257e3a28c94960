from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pyarrow import parquet

from fairexp.errors import ArgumentError
from fairexp.lab.metrics import max_min_share
from fairexp.lab.simulation.recorder import COLUMNS, RANKER, Recording
from fairexp.lab.simulation.run import run
from fairexp.lab.simulation.settings import DataSettings, RunSettings
from fairexp.measures import FIELD, MAX_MIN_SHARE, SPEED
from tests.reference import fairness_measures as slow

SMALL = RunSettings("pdgd", data=DataSettings(n_queries=4), rounds=40, n_points=3, length=4, user="informational")
ALL = Recording((*COLUMNS, RANKER), ("field",), draws=4)


@pytest.mark.parametrize("ranker", ["pdgd", "pairrank", "fairexp-pairrank", "fairco", "dbgd", "cascade-ucb1"])
def test_recording_changes_nothing_of_what_happens(ranker: str, tmp_path: Path) -> None:
    settings = replace(SMALL, ranker=ranker, parameters={"tolerance": 0.5} if ranker.startswith("fairexp") else {})
    plain = run(settings, folder=tmp_path / "plain")
    told = run(replace(settings, recording=ALL), folder=tmp_path / "told")
    before, after = (parquet.read_table(tmp_path / name / "trace.parquet") for name in ("plain", "told"))
    assert before.equals(after.select(before.column_names))
    assert {name: value for name, value in told.measures.items() if name not in (*FIELD, SPEED)} == {
        name: value for name, value in plain.measures.items() if name != SPEED
    }


def test_the_measures_of_a_run_are_those_of_its_lists(tmp_path: Path) -> None:
    result = run(replace(SMALL, recording=ALL), folder=tmp_path)
    train, _, _ = SMALL.data.load_parts()
    assert train.groups is not None
    rows = parquet.read_table(tmp_path / "trace.parquet").to_pylist()
    curve, n = [1.0, 1 / 2, 1 / 3, 1 / 4], len(rows)
    seen = {query: np.zeros(train.query(query).n_candidates) for query in range(train.n_queries)}
    times = dict.fromkeys(seen, 0)
    found = dict.fromkeys((measure.name for measure in FIELD), 0.0)
    for row in rows:
        seen[row["query"]][row["shown"]] += curve
        times[row["query"]] += 1
        template = train.query(row["query"]).groups[row["shown"]].tolist()
        found["AWRF"] += slow.awrf(template, curve, [1.0, 1.0]) / n
        found["NDKL"] += slow.ndkl(template, [1.0, 1.0]) / n
    exposure, merit, impact, groups = [], [], [], []
    for query, given in seen.items():
        grades, mean = train.relevance(query), given / max(times[query], 1)
        found["Gini"] += times[query] / n * (slow.gini(mean.tolist()) if times[query] else 0.0)
        found["item disparity"] += times[query] / n * slow.item_disparity(mean.tolist(), grades.tolist())
        order = np.argsort(-grades, kind="stable")
        owed = np.array([np.pad(curve, (0, len(grades)))[np.flatnonzero(grades[order] == g)].mean() for g in grades])
        for name, value in zip(("EE-L", "EE-D", "EE-R"), slow.expected_exposure(mean, owed), strict=True):
            found[name] += times[query] / n * value
        exposure += given.tolist()
        merit += (times[query] * grades).tolist()
        impact += (given * grades).tolist()
        groups += train.query(query).groups.tolist()
    found["DTR"] = slow.ratio(exposure, merit, groups, 2)
    found["DIR"] = slow.ratio(impact, merit, groups, 2)
    by_group = [sum(e for e, g in zip(exposure, groups, strict=True) if g == group) for group in (0, 1)]
    found["max-min share"] = slow.max_min_share(by_group, [1.0, 1.0])
    assert {measure.name: result[measure] for measure in FIELD} == pytest.approx(found)
    assert result[MAX_MIN_SHARE] == pytest.approx(
        max_min_share([rows[-1]["exposure_0"], rows[-1]["exposure_1"]], [1, 1])
    )


def test_refusals() -> None:
    with pytest.raises(ArgumentError, match="shown, clicked"):
        Recording(("clicks",))
    with pytest.raises(ArgumentError, match="max-min share"):
        Recording(measures=("max UF",))
    with pytest.raises(ArgumentError, match="draws"):
        Recording(draws=0)
