"""`fairexp learn`, called as a program would call it, from every form of a log."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
import typer
from pyarrow import csv, parquet
from typer.testing import CliRunner

from fairexp.cli.commands.learn import learn
from fairexp.errors import ArgumentError, DataError
from fairexp.lab.logs.files import read_log
from tests.lab.logs.worlds import CURVE, TRUTH, as_table, logged

app = typer.Typer()
app.command()(learn)


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def refused(*arguments):
    result = run(*arguments)
    assert result.exit_code != 0
    return result.exception


def write(table, path):
    if path.suffix == ".csv":
        csv.write_csv(table, path)
    elif path.suffix == ".parquet":
        parquet.write_table(table, path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    return path


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_every_form_of_rows_is_the_same_log(tmp_path, suffix):
    log = logged(0, n_rankings=80)
    found = read_log(write(as_table(log, shuffled=1), tmp_path / f"log{suffix}"))
    plain = read_log(write(as_table(log), tmp_path / f"plain{suffix}"))
    assert found.names == log.names and plain.n_rankings == found.n_rankings == 80
    assert np.array_equal(plain.features, log.features) and np.array_equal(plain.clicks, log.clicks)
    # Rankings in another order, each from its top.
    assert np.array_equal(found.positions, log.positions)
    by_ranking = lambda each: sorted(map(str, each.features.reshape(80, -1).tolist()))  # noqa: E731
    assert by_ranking(found) == by_ranking(log)


@pytest.mark.parametrize("exposure", ["reciprocal", "harvest"])
def test_from_a_file_to_a_table_and_a_prior(tmp_path, exposure):
    path, out = write(as_table(logged(0)), tmp_path / "log.parquet"), tmp_path / "learned.json"
    result = run(path, "--out", out, "--exposure", exposure)
    assert result.exit_code == 0, result.exception
    saved = json.loads(out.read_text())
    assert saved["features"] == list("abcde") and saved["n_rankings"] == 3000
    unseen = np.random.default_rng(9).random((500, 5))
    assert np.corrcoef(unseen @ saved["weights"], unseen @ TRUTH)[0, 1] > 0.98
    assert saved["exposure"] == pytest.approx(CURVE.tolist(), abs=0 if exposure == "reciprocal" else 0.06)
    assert "3,000 rankings" in result.output and f"{saved['weights'][0]:+.4g}" in result.output
    assert ("Exposure by position" in result.output) is (exposure == "harvest")


def test_chosen_columns_strength_and_scaling(tmp_path):
    path, out = write(as_table(logged(1, n_rankings=300)), tmp_path / "log.csv"), tmp_path / "learned.json"
    assert run(path, "--out", out, "--features", "b,a", "--strength", 12, "--scaling", "query").exit_code == 0
    saved = json.loads(out.read_text())
    assert saved["features"] == ["b", "a"] and saved["strength"] == 12
    assert saved["weights"][0] < 0 < saved["weights"][1]


def test_graded_documents_of_a_letor_file(tmp_path):
    rng = np.random.default_rng(0)
    lines = []
    for number in range(600):
        x = rng.random(3)
        grade = int(np.clip(np.floor(2 * x[0] + x[1]), 0, 2))
        lines.append(f"{grade} qid:{number // 10} " + " ".join(f"{i + 1}:{v * 50:.4f}" for i, v in enumerate(x)) + "\n")
    path, out = tmp_path / "train.txt", tmp_path / "learned.json"
    path.write_text("".join(lines))
    result = run(path, "--out", out)
    assert result.exit_code == 0, result.exception
    saved = json.loads(out.read_text())
    assert saved["features"] == ["1", "2", "3"] and saved["exposure"] is None
    assert saved["weights"][0] > saved["weights"][1] > 5 * abs(saved["weights"][2])
    assert saved["weights"][0] < 1.0  # in the file's own units, of which a range has 50


def letor(path, *, seed, n_queries=80):
    """Documents whose grade the second of three features tells, in units of 50."""
    rng = np.random.default_rng(seed)
    lines = []
    for number in range(10 * n_queries):
        x = rng.random(3)
        grade = int(np.clip(np.floor(3 * x[1]), 0, 2))
        lines.append(f"{grade} qid:{number // 10} " + " ".join(f"{i + 1}:{v * 50:.4f}" for i, v in enumerate(x)) + "\n")
    path.write_text("".join(lines))
    return path


def test_what_was_learned_says_what_it_is_for_and_simulate_checks_that(tmp_path, fairexp):
    train, out = letor(tmp_path / "train.txt", seed=0), tmp_path / "learned.json"
    simulate = (
        "simulate",
        "--data",
        train,
        "--ranker",
        "pairrank",
        "--rounds",
        5,
        "--jobs",
        1,
        "--set",
        f"prior={out}",
    )
    told = fairexp("learn", train, "--out", out).stderr
    saved = json.loads(out.read_text())
    assert (saved["features"], saved["scaling"]) == (["1", "2", "3"], "none") and "per unit" in saved["units"]
    assert "3 features: 1, 2, 3" in told and "learn with --scaling query" in told
    refused = fairexp(*simulate, exit_code=2).stderr
    assert "got weights learned with scaling 'none'" in refused and "fairexp learn --scaling query" in refused
    advice = fairexp("learn", train, "--out", out, "--scaling", "query").stderr
    assert json.loads(out.read_text())["scaling"] == "query" and f"--set prior={out}" in advice
    assert "pairrank" in fairexp(*simulate).stdout
    out.write_text(json.dumps({**saved, "scaling": "query", "features": ["1", "2", "price"]}))
    assert "got one without '3'" in fairexp(*simulate, exit_code=2).stderr


def test_a_prior_in_another_order_is_the_same_prior(tmp_path):
    from fairexp.lab.simulation.run import ranker_of
    from fairexp.lab.simulation.settings import DataSettings, RunSettings

    train, out = letor(tmp_path / "train.txt", seed=0), tmp_path / "learned.json"
    assert run(train, "--out", out, "--scaling", "query").exit_code == 0
    settings = RunSettings("fairexp-pairrank", {"prior": str(out)}, DataSettings(str(train), group="1:q0.5"))
    data = settings.data.load()[0]
    plain = ranker_of(settings, data).score(data.query(0).features)
    saved = json.loads(out.read_text())
    for key in ("features", "weights", "spread"):
        saved[key] = saved[key][::-1]
    out.write_text(json.dumps(saved))
    assert np.array_equal(ranker_of(settings, data).score(data.query(0).features), plain) and np.ptp(plain) > 0.5


def test_a_log_has_no_features_that_tell_the_outcome(tmp_path, fairexp):
    table = as_table(logged(0, n_rankings=80))
    leaks = {
        "label": table["click"],
        "clicks": table["click"],
        "Unnamed: 0": pa.array(range(table.num_rows)),
        "doc_idx": table["position"],
        "weight": table["position"],
    }
    for name, column in leaks.items():
        table = table.append_column(name, column)
    path = write(table, tmp_path / "log.csv")
    told = fairexp("learn", path, "--out", tmp_path / "learned.json", "--ignore", "weight").stderr
    assert json.loads((tmp_path / "learned.json").read_text())["features"] == list("abcde")
    assert "5 features: a, b, c, d, e" in told
    note = "'label' (another grade), 'clicks' (clicks), 'Unnamed: 0' (an index), 'doc_idx' (an id), 'weight' (ignored)"
    assert note in told
    assert read_log(path, features=("a", "clicks")).names == ("a", "clicks")
    with pytest.raises(DataError, match=r"no column 'wieght'\. Did you mean 'weight'"):
        read_log(path, ignore=["wieght"])
    with pytest.raises(ArgumentError, match="LETOR text has no named columns"):
        read_log(letor(tmp_path / "a.txt", seed=1), ignore=["1"])


def ubi(tmp_path, log):
    """The log as UBI has it: queries with what they returned, and events."""
    sizes = np.diff(log.offsets)
    rankings = np.repeat(np.arange(log.n_rankings), sizes)
    ids = [f"q{query}-{document}" for query, document in zip(np.repeat(log.queries, sizes), log.documents, strict=True)]
    queries = [
        {"query_id": f"r{number}", "user_query": f"q{log.queries[number]}", "query_response_hit_ids": ids[first:last]}
        for number, (first, last) in enumerate(zip(log.offsets[:-1], log.offsets[1:], strict=True))
    ]
    events = [{"action_name": "hover", "query_id": "r0", "event_attributes": {"object": {"object_id": ids[3]}}}]
    events += [
        {
            "action_name": "click",
            "query_id": f"r{rankings[row]}",
            "event_attributes": {"object": {"object_id": ids[row]}, "position": {"ordinal": int(log.positions[row])}},
        }
        for row in np.flatnonzero(log.clicks)
    ]
    items = {each: row for row, each in enumerate(ids)}
    known = [
        {"document": each, **dict(zip(log.names, log.features[row].tolist(), strict=True))}
        for each, row in items.items()
    ]
    paths = []
    for name, rows in (("events", events), ("queries", queries), ("items", known)):
        paths.append(tmp_path / f"{name}.jsonl")
        paths[-1].write_text("".join(json.dumps(row) + "\n" for row in rows))
    return paths


def test_ubi_events_are_the_same_log(tmp_path):
    log = logged(2, n_rankings=200)
    events, queries, items = ubi(tmp_path, log)
    found = read_log(events, queries=queries, items=items)
    assert np.array_equal(found.features, log.features) and np.array_equal(found.clicks, log.clicks)
    assert np.array_equal(found.positions, log.positions) and np.array_equal(found.offsets, log.offsets)
    assert len(np.unique(found.queries)) == len(np.unique(log.queries))
    result = run(events, "--queries", queries, "--items", items, "--out", tmp_path / "learned.json")
    assert result.exit_code == 0, result.exception


def test_objects_that_nothing_is_known_of_leave_their_positions_empty(tmp_path):
    log = logged(2, n_rankings=20)
    events, queries, items = ubi(tmp_path, log)
    lines = items.read_text().splitlines(keepends=True)
    unknown = json.loads(lines[0])["document"]
    items.write_text("".join(lines[1:]))
    found = read_log(events, queries=queries, items=items)
    assert unknown and found.positions[0] == 2 and len(found.features) < len(log.features)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda table: table.drop_columns(["ranking"]), "expected `ranking`, and `click` or `grade`"),
        (lambda table: table.append_column("grade", table.column("click")), "expected `ranking`, and `click` or"),
        (lambda table: table.drop_columns(list("abcde")), "no column of numbers"),
        (lambda table: _with(table, "position", 0), "expected positions from 1"),
        (lambda table: _with(table, "click", 2), "has click 2"),
        (lambda table: _with(table, "a", None), "lacks 1 values of a"),
        (lambda table: _with(table, "a", float("inf")), "has inf as a"),
        (lambda table: _with(table, "position", 1.5), "has 1.5 as position"),
        (lambda table: table.slice(0, 0), "holds no rows"),
    ],
)
def test_rows_that_are_wrong_are_named(tmp_path, change, words):
    path = write(change(as_table(logged(3, n_rankings=5))), tmp_path / "log.parquet")
    error = refused(path, "--out", tmp_path / "learned.json")
    assert isinstance(error, DataError) and words in str(error)
    assert not (tmp_path / "learned.json").exists()


def _with(table, name, value):
    values = [value, *(float(each) for each in table.column(name).to_pylist()[1:])]
    return table.set_column(table.column_names.index(name), name, pa.array(values, type=pa.float64()))


def test_arguments_that_do_not_fit_are_refused(tmp_path):
    path = write(as_table(logged(3, n_rankings=5)), tmp_path / "log.csv")
    for arguments, words in (
        ((path, "--out", tmp_path / "learned.yaml"), "ends in .json"),
        ((tmp_path / "none.csv", "--out", tmp_path / "l.json"), "does not exist"),
        ((path, "--out", tmp_path / "l.json", "--queries", path), "both, with UBI events, or neither"),
        ((path, "--out", tmp_path / "l.json", "--queries", path, "--items", path), "rows without action_name"),
        ((path, "--out", tmp_path / "l.json", "--exposure", "1,0.5"), "at least 10"),
    ):
        error = refused(*arguments)
        assert isinstance(error, ArgumentError) and words in str(error)
    assert isinstance(refused(path, "--out", tmp_path / "l.json", "--features", "zz"), DataError)
