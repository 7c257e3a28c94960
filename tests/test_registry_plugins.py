"""Rankers of other packages are found by their entry points."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from fairexp.errors import ArgumentError
from fairexp.rankers import RANKERS
from fairexp.registry import construct, ranker_class, ranker_names


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed package that offers a host, under a name of its own and under one of ours."""
    (tmp_path / "plugged_in.py").write_text("from fairexp import PairRank\n\n\nclass Plugged(PairRank):\n    pass\n")
    info = tmp_path / "plugged_in-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugged-in\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[fairexp.rankers]\nplugged = plugged_in:Plugged\npairrank = plugged_in:Plugged\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "plugged_in", raising=False)


@pytest.mark.usefixtures("plugin")
def test_a_ranker_of_another_package_is_known_by_its_name_alone_and_inside_others() -> None:
    assert {"plugged", "fairexp-plugged", "offr-plugged"} <= set(ranker_names())
    ranker = construct("fairexp-plugged", {"alpha": 0.2}, known={"n_features": 3, "tolerance": 1.0, "beta": 1.0})
    assert type(ranker.learner).__name__ == "Plugged" and ranker.learner.alpha == 0.2


@pytest.mark.usefixtures("plugin")
def test_our_own_names_cannot_be_taken() -> None:
    assert ranker_class("pairrank").__module__ == "fairexp.rankers.pairrank.ranker"


def test_an_unknown_name_is_rejected_with_a_suggestion() -> None:
    assert "plugged" not in ranker_names() and "plugged" not in RANKERS
    with pytest.raises(ArgumentError, match="Did you mean 'pairrank'"):
        ranker_class("pairank")
