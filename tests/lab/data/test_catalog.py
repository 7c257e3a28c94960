"""The catalogue of published collections, and one word for any data."""

from __future__ import annotations

import gzip
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from fairexp.errors import ArgumentError, DataError
from fairexp.lab.data import COLLECTIONS, collection, group_shares, group_table, load, open_data, read_letor

SHARED = Path(os.environ.get("FAIREXP_SHARED_DATA", Path(__file__).resolve().parents[3].parent / "shared" / "data"))
needs_shared_data = pytest.mark.skipif(not SHARED.is_dir(), reason="the real ranking data are not here")


def lay_out(folder: Path, name: str) -> dict[str, Path]:
    known = COLLECTIONS[name]
    text = "".join(f"{i % known.n_grades} qid:{i // 3} 1:{i} {known.n_features}:{i % 4}\n" for i in range(12))
    paths = {part: folder / places[0].format(fold=1) for part, places in known.files.items()}
    for path in paths.values():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return paths


@pytest.mark.parametrize("name", list(COLLECTIONS))
def test_every_collection_loads_from_its_layout(tmp_path: Path, name: str) -> None:
    for part in lay_out(tmp_path, name):
        data = load(name, tmp_path, part=part)
        assert (data.n_features, data.n_documents) == (COLLECTIONS[name].n_features, 12)


def test_what_is_known_of_the_collections() -> None:
    facts = {name: (c.n_features, c.n_grades, c.n_folds, c.groups) for name, c in COLLECTIONS.items()}
    assert facts["mslr-web10k"] == facts["mslr-web30k"] == (136, 5, 5, ("pagerank", "inlinks"))
    assert facts["yahoo-set1"] == facts["yahoo-set2"] == (700, 5, 1, ("feature-9", "feature-471"))
    assert facts["mq2008"] == (46, 3, 5, ("pagerank",))
    assert facts["istella"] == (220, 5, 1, ())
    assert facts["ohsumed"] == (45, 3, 5, ())


def test_the_second_place_and_compressed_files_are_found(tmp_path: Path) -> None:
    lay_out(tmp_path / "a", "istella-s")
    shutil.copytree(tmp_path / "a", tmp_path / "b" / "sample")
    assert load("istella-s", tmp_path / "b", part="vali").n_documents == 12
    paths = lay_out(tmp_path / "c", "mq2008")
    paths["test"].with_name("test.txt.gz").write_bytes(gzip.compress(paths["test"].read_bytes()))
    paths["test"].unlink()
    assert load("mq2008", tmp_path / "c", part="test").n_documents == 12


def test_what_is_missing_is_named_with_what_is_there(tmp_path: Path) -> None:
    lay_out(tmp_path, "mq2008")
    with pytest.raises(DataError, match=r"holds no Fold3/vali\.txt .*MQ2008 should have; there is Fold1/\."):
        load("mq2008", tmp_path, fold=3, part="vali")
    with pytest.raises(DataError, match="no such folder"):
        load("mq2008", tmp_path / "absent")
    with pytest.raises(ArgumentError, match="fold: expected a number from 1 to 5 for mq2008, got 6"):
        load("mq2008", tmp_path, fold=6)
    with pytest.raises(ArgumentError, match="part: expected one of 'train', 'test', got 'vali'"):
        load("istella", tmp_path, part="vali")
    with pytest.raises(ArgumentError, match="name: expected one of 'mslr-web10k'"):
        collection("mslr")


def test_grades_beyond_the_collections_are_refused(tmp_path: Path) -> None:
    path = lay_out(tmp_path, "mq2008")["train"]
    path.write_text("3 qid:1 1:1\n")
    with pytest.raises(DataError, match=r"has grade 3, but the grades of LETOR 4\.0 MQ2008 end at 2"):
        load("mq2008", tmp_path)


def test_one_word_opens_any_data(tmp_path: Path) -> None:
    path = lay_out(tmp_path, "mq2008")["train"]
    assert open_data(path).n_queries == 4
    assert open_data(str(path), group="1:q0.5", n_queries=2).n_groups == 2
    assert open_data("mq2008", folder=tmp_path, n_queries=3).n_queries == 3
    assert open_data("mslr-inlink", n_queries=4, part="test").query_ids[0] == "test-0"
    assert open_data("mslr-inlink", n_queries=9, group="1:q0.5").blanked == (1, 128)
    with pytest.raises(ArgumentError, match=r"folder: expected the folder that holds LETOR 4\.0 MQ2008"):
        open_data("mq2008")
    with pytest.raises(ArgumentError, match="source: expected a file that exists, or one of mslr-pagerank"):
        open_data("nothing-of-the-kind")


@needs_shared_data
@pytest.mark.shared_data
def test_mq2008_reads_as_published() -> None:
    parts = [read_letor(SHARED / "MQ2008" / f"S{i}.txt", n_features=46) for i in range(1, 6)]
    assert sum(part.n_queries for part in parts) == 784
    assert sum(part.n_documents for part in parts) == 15211
    assert sum(np.bincount(part.grades, minlength=3) for part in parts).tolist() == [12279, 2001, 931]
    assert sum(part.n_queries - part.without_irrelevant().n_queries for part in parts) == 220
    tables = [group_table(part.grouped("pagerank")) for part in parts]
    sizes = np.array([[row.size for row in table] for table in tables]).sum(axis=0)
    totals = np.array([[row.total_utility for row in table] for table in tables]).sum(axis=0)
    assert (sizes / sizes.sum()).round(3).tolist() == [0.467, 0.533]
    assert (totals / sizes).round(3).tolist() == [0.229, 0.276]


@needs_shared_data
@pytest.mark.shared_data
def test_the_mslr_sample_reads_as_published() -> None:
    data = read_letor(SHARED / "MSLR-sample" / "train.txt")
    assert (data.n_queries, data.n_documents, data.n_features, data.max_grade) == (42, 4955, 136, 4)
    assert data.column(130, on="raw")[0] == 116
    assert data.column(128, on="raw")[0] == 11089534
    grouped = data.grouped("pagerank")
    assert group_shares(grouped)[0] == pytest.approx(0.52, abs=0.05)
    assert grouped.query(0).features[:, 129].max() == 0
