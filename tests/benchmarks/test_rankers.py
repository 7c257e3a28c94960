"""The measured table of the rankers: from the registry, and on the page as it is on record."""

from __future__ import annotations

import json

from benchmarks import rankers
from benchmarks.rankers import PAGE, RECORD, Place, measurable, measure, with_table
from fairexp import registry
from fairexp.lab.simulation.settings import DataSettings
from fairexp.measures import HELDOUT_NDCG, MAX_UF, ONLINE_NDCG, QUALIFIED_SHARE


def test_the_page_says_what_is_on_record():
    page = PAGE.read_text(encoding="utf-8")
    assert with_table(page, json.loads(RECORD.read_text())) == page


def test_a_ranker_is_measured_alone_and_inside_fairexp(monkeypatch):
    """One more line in the registry is one more row, and what needs a parameter of its own is left out."""
    assert "fixed" not in measurable() and {"pairrank", "toprank", "pdgd"} <= set(measurable())
    known = {"random": rankers.RANKERS["random"], "mine": rankers.RANKERS["pdgd"], "rba": rankers.RANKERS["rba"]}
    monkeypatch.setattr(registry, "RANKERS", known)
    monkeypatch.setattr(rankers, "RANKERS", known)
    monkeypatch.setattr(rankers, "places", lambda: [Place("here", DataSettings("frequent"), 100)])
    rows = {row["ranker"]: row for row in measure(share=0.2, seeds=(0, 1))}
    assert list(rows) == ["mine", "random", "rba"] and rows["mine"]["rounds"] == 20
    alone, inside = rows["mine"]["alone"], rows["mine"]["inside"]
    assert alone[QUALIFIED_SHARE.name] is None and inside[QUALIFIED_SHARE.name] > 0.9
    assert inside[MAX_UF.name] < alone[MAX_UF.name] and alone[HELDOUT_NDCG.name] > 0.0
    assert rows["rba"]["inside"] is None and rows["rba"]["alone"][HELDOUT_NDCG.name] is None
    record = {"user": "u", "seeds": 2, "tolerance": 0.1, "left_out": ["fixed"], "rows": list(rows.values())}
    page = with_table("before\n<!-- measured: begin -->\nstale figures\n<!-- measured: end -->\nafter\n", record)
    assert page.startswith("before\n") and page.endswith("\nafter\n") and "stale" not in page
    assert f"| `mine` | {ONLINE_NDCG.text(alone[ONLINE_NDCG.name])} |" in page and "`fixed`" in page
