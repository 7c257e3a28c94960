from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from pyarrow import parquet
from typer.testing import Result

Run = Callable[..., Result]
TINY = ("simulate", "--queries", 8, "--rounds", 12, "--jobs", 1)
RESULT_KEYS = {
    "online nDCG@10",
    "held-out nDCG@10",
    "max UF",
    "final UF",
    "mean added regret",
    "qualified share",
    "rounds/s",
}


def line_of(output: str, ranker: str) -> list[str]:
    (line,) = [line for line in output.splitlines() if line.split()[:1] == [ranker]]
    return line.replace(" ± ", "±").split()


def write_letor(path: Path, *, n_queries: int, seed: int) -> Path:
    """A file of 3 features, of which the second tells the grade and the third the group."""
    rng = np.random.default_rng(seed)
    lines = []
    for query in range(n_queries):
        for document in range(6):
            grade = int(rng.integers(0, 3))
            group = document % 2
            lines.append(f"{grade} qid:{seed}{query} 1:{rng.uniform():.4f} 2:{grade + 0.1 * document:.2f} 3:{group}")
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_run_folder_holds_settings_trace_and_result(fairexp: Run, tmp_path: Path) -> None:
    out = tmp_path / "run"
    shown = fairexp(*TINY, "--ranker", "fairexp-pairrank", "--seed", 3, "--shares", "average_utility", "--out", out)
    assert {path.name for path in out.iterdir()} == {"settings.json", "trace.parquet", "result.json"}
    settings = json.loads((out / "settings.json").read_text())
    assert (settings["ranker"], settings["seed"], settings["rounds"]) == ("fairexp-pairrank", 3, 12)
    assert (settings["shares"], settings["data"]["n_queries"]) == ("average_utility", 8)
    trace = parquet.read_table(out / "trace.parquet").to_pydict()
    assert trace["round"] == list(range(1, 13))
    assert {"query", "nDCG@10", "online nDCG@10", "clicks", "added regret", "qualified", "UF"} <= trace.keys()
    result = json.loads((out / "result.json").read_text())
    assert result.keys() >= RESULT_KEYS and result["interrupted"] is False
    assert result["online nDCG@10"] == trace["online nDCG@10"][-1]
    assert result["max UF"] == max(trace["UF"])
    assert result["qualified share"] == sum(trace["qualified"]) / 12
    assert line_of(shown.stdout, "fairexp-pairrank")[1] == f"{result['online nDCG@10']:.1f}"


def test_all_combinations_run_and_the_table_tells_their_results(fairexp: Run, tmp_path: Path) -> None:
    out = tmp_path / "runs"
    names = ("--ranker", "pdgd", "--ranker", "random", "--user", "perfect", "--user", "informational")
    output = fairexp(*TINY, *names, "--seeds", 2, "--out", out).stdout
    folders = sorted(str(path.parent.relative_to(out)) for path in out.glob("*/*/*/result.json"))
    assert folders == [
        f"{r}/{u}/seed-{s}" for r in ("pdgd", "random") for u in ("informational", "perfect") for s in (0, 1)
    ]
    results = [json.loads((out / f"random/perfect/seed-{s}/result.json").read_text()) for s in (0, 1)]
    perfect = output[output.index("perfect user") : output.index("informational user")]
    cells = line_of(perfect, "random")
    online = [result["online nDCG@10"] for result in results]
    half_width = 12.7062 * abs(online[0] - online[1]) / 2  # Student's t with one degree of freedom
    assert cells[1] == f"{np.mean(online):.1f}±{half_width:.1f}"
    assert cells[3] == f"{np.mean([result['held-out nDCG@10'] for result in results]):.4f}"
    assert float(cells[4]) == pytest.approx(max(result["max UF"] for result in results), abs=0.005)
    with (out / "summary.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["user"], row["ranker"]) for row in rows] == [
        ("perfect", "pdgd"),
        ("perfect", "random"),
        ("informational", "pdgd"),
        ("informational", "random"),
    ]
    assert float(rows[1]["online nDCG@10"]) == pytest.approx(np.mean(online))


def test_parameters_reach_the_rankers(fairexp: Run, tmp_path: Path) -> None:
    rankers = ("--ranker", "pdgd", "--ranker", "dbgd")
    fairexp(*TINY, *rankers, "--set", "decay=0.5", "--set", "dbgd.step=2", "--out", tmp_path)
    read = {
        name: json.loads((tmp_path / name / "perfect" / "seed-0" / "settings.json").read_text())["parameters"]
        for name in ("pdgd", "dbgd")
    }
    assert read == {"pdgd": {"decay": 0.5}, "dbgd": {"decay": 0.5, "step": 2}}


def test_files_groups_users_and_shares_of_ones_own(fairexp: Run, tmp_path: Path) -> None:
    train = write_letor(tmp_path / "train.txt", n_queries=5, seed=1)
    test = write_letor(tmp_path / "test.txt", n_queries=4, seed=2)
    user = tmp_path / "mine.yaml"
    user.write_text("model: cascade\nattraction: [0.1, 0.5, 0.9]\n")
    data = ("--data", train, "--heldout", test, "--group", "3:0.5", "--user", user)
    out = tmp_path / "out"
    fairexp(
        "simulate", *data, "--ranker", "pdgd", "--rounds", 9, "--length", 4, "--beta", 1.5, "--jobs", 1, "--out", out
    )
    settings = json.loads((out / "settings.json").read_text())
    assert settings["shares"] == [1.5, 1.0] and settings["data"]["group"] == "3:0.5"
    result = json.loads((out / "result.json").read_text())
    assert 0 < result["held-out nDCG@10"] <= 1 and result["max UF"] > 0


def test_without_groups_unfairness_is_left_out(fairexp: Run, tmp_path: Path) -> None:
    train = write_letor(tmp_path / "train.txt", n_queries=5, seed=1)
    output = fairexp("simulate", "--data", train, "--ranker", "pdgd", "--rounds", 5, "--jobs", 1).stdout
    assert line_of(output, "pdgd")[3:7] == ["-", "-", "-", "-"]


def test_a_folder_with_a_run_is_refused_then_overwritten_when_told(fairexp: Run, tmp_path: Path) -> None:
    command = (*TINY, "--ranker", "random", "--out", tmp_path)
    fairexp(*command)
    (tmp_path / "notes.txt").write_text("mine")
    before = (tmp_path / "result.json").read_text()
    refused = fairexp(*command, exit_code=2)
    assert "holds runs already" in refused.stderr and "--overwrite" in refused.stderr
    assert (tmp_path / "result.json").read_text() == before
    fairexp(*command, "--seeds", 2, "--overwrite")
    assert not (tmp_path / "result.json").exists()
    assert (tmp_path / "notes.txt").exists() and (tmp_path / "random/perfect/seed-1/result.json").exists()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--ranker", "nonesuch"], "ranker: expected the name of a ranker"),
        (["--set", "nonesuch=1"], "a parameter that a chosen ranker has (pairrank: "),
        (["--set", "alpha=-1"], "alpha: expected"),
        (["--user", "nobody"], "user: "),
        (["--seed", "1", "--seeds", "2"], "one of the two"),
        (["--beta", "1", "--shares", "size"], "one of the two"),
        (["--shares", "1,2,3"], "shares: expected 2, one per group, got 3 numbers"),
        (["--exposure", "nonesuch"], "exposure"),
        (["--data", "nonesuch"], "nonesuch"),
        (["--stop-after", "lunch"], "lunch"),
    ],
)
def test_nonsense_is_refused_in_one_line_before_anything_is_written(
    fairexp: Run, tmp_path: Path, options: list[str], problem: str
) -> None:
    result = fairexp(*TINY, *options, "--out", tmp_path / "out", exit_code=2)
    assert problem in result.stderr
    assert result.stderr.count("\n") == 1 and "Traceback" not in result.stderr
    assert not (tmp_path / "out").exists()


def test_user_files_of_one_name_are_refused(fairexp: Run, tmp_path: Path) -> None:
    options: list[object] = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "me.yaml").write_text("model: cascade\nattraction: [0.1, 0.5, 0.9]\n")
        options += ["--user", tmp_path / folder / "me.yaml"]
    assert "files of different names" in fairexp(*TINY, *options, exit_code=2).stderr


def test_a_tolerance_below_the_grid_is_noted_once(fairexp: Run) -> None:
    options = ("--ranker", "fairexp-random", "--exposure", "flat", "--beta", "1.22", "--seeds", 2)
    stderr = fairexp(*TINY, *options).stderr
    assert stderr.count("Note: tolerance: 0.1 is below half the grid") == 1
    assert "ToleranceWarning" not in stderr


def test_where_fairness_is_impossible_it_is_said_before_the_run(fairexp: Run, tmp_path: Path) -> None:
    path = write_letor(tmp_path / "train.txt", n_queries=8, seed=1)
    one_group = "".join(f"1 qid:one{query} 1:{d} 2:1 3:0\n" for query in range(8) for d in range(6))
    path.write_text(path.read_text() + one_group)
    options = ("--data", path, "--group", "3:raw:0.5", "--rounds", 12, "--jobs", 1)
    stderr = fairexp("simulate", *options, "--ranker", "fairexp-random", "--user", "perfect").stderr
    notes = [line for line in stderr.splitlines() if line.startswith("Note: fairness: ")]
    assert len(notes) == 2 and "50.0% have no 'feature 3 > 0.5'" in notes[0]
    assert "even the fairest lists keep only" in notes[1] or "can get at most" in notes[1]
    assert stderr.index(notes[1]) < stderr.index("12 of 12 rounds")
    assert "Note" not in fairexp("simulate", *options, "--ranker", "random").stderr


def test_nothing_is_said_where_fairness_is_possible(fairexp: Run) -> None:
    assert "Note" not in fairexp(*TINY, "--ranker", "fairexp-random", "--set", "tolerance=1").stderr


def write_table(path: Path, columns: Sequence[str], *, seed: int) -> Path:
    """Documents with features and an index, clicks and a second grade that give the grade away."""
    rng = np.random.default_rng(seed)
    grade = rng.integers(0, 3, 60)
    known = {
        "": np.arange(60),
        "query": np.repeat(np.arange(10), 6),
        "grade": grade,
        "label": grade,
        "click": grade > 0,
        "doc_idx": grade,
        "price": rng.random(60).round(3),
        "fit": (grade + rng.random(60)).round(3),
        "sku": [f"k{number}" for number in range(60)],
    }
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*(known[name] for name in columns), strict=True))
    return path


def test_features_are_told_on_one_line_and_so_is_what_is_none(fairexp: Run, tmp_path: Path) -> None:
    names = ("", "query", "grade", "label", "click", "doc_idx", "price", "fit", "sku")
    train = write_table(tmp_path / "tr.csv", names, seed=1)
    command = ("simulate", "--data", train, "--ranker", "pdgd", "--rounds", 5, "--jobs", 1)
    refused = fairexp(*command, exit_code=2).stderr
    assert "2 columns that could be the grade: 'grade' and 'label'" in refused and "--ignore label" in refused
    told = fairexp(*command, "--ignore", "label").stderr.splitlines()
    assert "tr: 2 features: price, fit" in told
    (note,) = [line for line in told if line.startswith("Note: columns left out")]
    assert "'label' (ignored), '' (an index), 'click' (clicks), 'doc_idx' (an id), 'sku' (words)" in note
    assert "Did you mean 'label'?" in fairexp(*command, "--ignore", "labels", exit_code=2).stderr
    described = fairexp("data", "describe", train, "--ignore", "label").stdout
    assert "tr: 2 features: price, fit" in described and note in described
    shown = fairexp("exposure", "--data", train, "--ignore", "label", "--sessions", 20, "--length", 3)
    assert "tr: 2 features: price, fit" in shown.stderr and note in shown.stderr


def test_heldout_features_are_matched_by_name(fairexp: Run, tmp_path: Path) -> None:
    train = write_table(tmp_path / "tr.csv", ("query", "grade", "price", "fit"), seed=1)
    plain = write_table(tmp_path / "te.csv", ("query", "grade", "price", "fit"), seed=2)
    turned = write_table(tmp_path / "turned.csv", ("fit", "price", "grade", "query"), seed=2)
    command = ("simulate", "--data", train, "--ranker", "pairrank", "--rounds", 30, "--jobs", 1, "--heldout")
    cells = [line_of(fairexp(*command, path).stdout, "pairrank")[2:4] for path in (plain, turned)]
    assert cells[0] == cells[1]
    lacking = write_table(tmp_path / "short.csv", ("query", "grade", "fit"), seed=2)
    assert "without price" in fairexp(*command, lacking, exit_code=2).stderr


def test_a_kept_run_with_ignored_columns_is_read_back(fairexp: Run, tmp_path: Path) -> None:
    train = write_table(tmp_path / "tr.csv", ("query", "grade", "label", "price", "fit"), seed=1)
    out = tmp_path / "out"
    options = ("--data", train, "--ignore", "label", "--ranker", "random", "--rounds", 5, "--jobs", 1, "--out", out)
    fairexp("simulate", *options, "--record", "shown")
    told = fairexp("export", "trec", out, "--out", tmp_path / "trec").stderr
    assert "tr: 2 features: price, fit" in told and (tmp_path / "trec" / "qrels.txt").exists()


def test_what_limits_a_result_is_said_before_the_run_and_beside_the_result(fairexp: Run, tmp_path: Path) -> None:
    path = write_letor(tmp_path / "train.txt", n_queries=8, seed=1)
    options = ("--data", path, "--heldout", path, "--rounds", 12, "--jobs", 1, "--seeds", 2, "--out", tmp_path / "out")
    told = fairexp("simulate", *options, "--ranker", "random", "--user", "perfect", "--user", "navigational")
    note = "Note: held-out data: all 8 queries are also in the training data"
    assert told.stderr.count(note) == told.stdout.count(note) == 1  # of all users, so none is named
    assert told.stderr.index(note) < told.stderr.index("48 of 48 rounds")
    assert told.stdout.index("random") < told.stdout.index(note)
    for result in (tmp_path / "out").glob("**/result.json"):
        assert [f"Note: {line}".startswith(note) for line in json.loads(result.read_text())["notes"]] == [True]


def test_parameters_that_contradict_what_all_are_measured_by_are_refused(fairexp: Run, tmp_path: Path) -> None:
    options = ("--ranker", "fairexp-pairrank", "--set", "beta=3", "--out", tmp_path / "out")
    stderr = fairexp(*TINY, *options, exit_code=2).stderr
    assert "shares: expected 0.75 : 0.25, which the ranker was built with, got 0.5 : 0.5" in stderr
    assert not (tmp_path / "out").exists()
    fairexp(*TINY, *options, "--beta", 3)
