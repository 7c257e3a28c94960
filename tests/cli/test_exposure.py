"""`fairexp exposure`, called as a program would call it."""

import json

import numpy as np
import pyarrow as pa
import pytest
import typer
from pyarrow import parquet
from typer.testing import CliRunner

from fairexp.cli.commands.exposure import exposure
from fairexp.errors import ArgumentError, DataError
from fairexp.fairness.exposure import estimate_exposure, exposure_curve

app = typer.Typer()
app.command()(exposure)


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def refused(*arguments):
    """The error of ours that the command ends with; the program's entry point prints it."""
    result = run(*arguments)
    assert result.exit_code != 0
    return result.exception


def logged(n_positions=3, n_sessions=500, seed=0):
    rng = np.random.default_rng(seed)
    return rng.random((n_sessions, n_positions)) < 0.5 / np.arange(1, n_positions + 1)


@pytest.mark.parametrize("method", ["randomise", "swap"])
def test_simulated_users_on_a_world(tmp_path, method):
    out = tmp_path / "curve.json"
    options = ("--user", "navigational", "--method", method, "--sessions", 3000, "--length", 5, "--seed", 1)
    result = run("--data", "yahoo-9", *options, "--out", out)
    assert result.exit_code == 0, result.exception
    assert "3,000 sessions" in result.output
    saved = json.loads(out.read_text())
    assert saved["n_sessions"] == 3000
    assert saved["exposure"][0] == 1.0
    assert len(saved["exposure"]) == len(saved["standard_error"]) == 5
    for value in saved["exposure"]:
        assert f"{value:.4f}" in result.output
    again = tmp_path / "again.csv"
    assert run("--data", "yahoo-9", *options, "--out", again).exit_code == 0
    assert exposure_curve(again, 5).tolist() == exposure_curve(out, 5).tolist() == saved["exposure"]


def test_a_letor_file_and_users_of_ones_own(tmp_path):
    data, user = tmp_path / "data.txt", tmp_path / "user.yaml"
    data.write_text("".join(f"{i % 2} qid:1 1:{i}\n" for i in range(6)))
    user.write_text("model: position\nexamination: [1, 1, 0]\nattraction: [0.5, 0.5]\n")
    result = run("--data", data, "--user", user, "--sessions", 2000, "--length", 3, "--out", tmp_path / "c.json")
    assert result.exit_code == 0, result.exception
    curve = json.loads((tmp_path / "c.json").read_text())["exposure"]
    assert curve[1] == pytest.approx(1.0, abs=4.5 * 0.0316)  # both rates 1/2: standard error sqrt(2 / 2000)
    assert curve[2] == 0.0


@pytest.mark.parametrize("kind", ["npy", "csv", "bare csv", "true and false", "parquet"])
def test_logged_clicks_from_each_kind_of_file(tmp_path, kind):
    clicks = logged()
    path = tmp_path / f"log.{kind.split()[-1] if 'csv' in kind else {'true and false': 'csv'}.get(kind, kind)}"
    if kind == "npy":
        np.save(path, clicks)
    elif kind == "parquet":
        parquet.write_table(pa.table({f"p{i}": clicks[:, i] for i in range(3)}), path)
    else:
        rows = [",".join(str(bool(c) if kind == "true and false" else int(c)) for c in row) for row in clicks]
        path.write_text("\n".join((["p1,p2,p3"] if kind == "csv" else []) + rows) + "\n")
    out = tmp_path / "curve.json"
    result = run("--clicks", path, "--out", out)
    assert result.exit_code == 0, result.exception
    assert json.loads(out.read_text())["exposure"] == estimate_exposure(clicks).curve.tolist()


def test_logged_swaps_have_their_partner_last(tmp_path):
    clicks, partner = logged(), np.random.default_rng(1).integers(2, 4, size=500)
    np.save(tmp_path / "log.npy", np.column_stack([clicks, partner]))
    out = tmp_path / "curve.json"
    assert run("--clicks", tmp_path / "log.npy", "--method", "swap", "--out", out).exit_code == 0
    assert json.loads(out.read_text())["exposure"] == estimate_exposure(clicks, partner=partner).curve.tolist()
    np.save(tmp_path / "log.npy", clicks)
    assert isinstance(refused("--clicks", tmp_path / "log.npy", "--method", "swap"), DataError)


def test_mistakes_are_named(tmp_path):
    (tmp_path / "broken.parquet").write_text("no")
    (tmp_path / "broken.npy").write_text("no")
    (tmp_path / "words.csv").write_text("a,b\nx,y\n")
    (tmp_path / "log.txt").write_text("0 1")
    for arguments, kind, message in [
        ([], ArgumentError, "--data or --clicks: expected one of the two, got neither"),
        (["--data", "yahoo-9", "--clicks", "x.npy"], ArgumentError, "one of the two, got both"),
        (["--data", "yahoo-9", "--out", "x.txt"], ArgumentError, "--out: expected a file name that ends in"),
        (["--clicks", tmp_path / "none.npy"], ArgumentError, "which does not exist"),
        (["--clicks", tmp_path / "log.txt"], ArgumentError, "--clicks: expected a .npy, .csv or .parquet file"),
        (["--clicks", tmp_path / "broken.parquet"], DataError, "cannot be read as .parquet"),
        (["--clicks", tmp_path / "broken.npy"], DataError, "cannot be read as .npy"),
        (["--clicks", tmp_path / "words.csv"], DataError, "expected one row of 0s and 1s per session"),
        (["--data", "nowhere"], ArgumentError, "'nowhere'"),
        (["--data", "yahoo-9", "--user", "lazy"], ArgumentError, "user: expected one of 'perfect'"),
    ]:
        error = refused(*arguments)
        assert isinstance(error, kind), (arguments, error)
        assert message in str(error)
