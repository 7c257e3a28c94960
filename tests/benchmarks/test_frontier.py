"""The page of the frontier is what its record says."""

from __future__ import annotations

import json

from benchmarks.frontier import PAGE, RECORD, page


def test_the_page_is_written_from_the_record() -> None:
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    assert PAGE.read_text(encoding="utf-8") == page(record), "run: python -m benchmarks.frontier"
    largest = [row for row in record["frontier_verdicts"] if row["measure"] == "max UF"]
    lost = [row for row in largest if row["difference"] is None or row["difference"] < 0]
    assert f"At {len(largest) - len(lost)} of {len(largest)} levels" in page(record)
    changed = {**record, "frontier_verdicts": [{**row, "difference": -1.0} for row in record["frontier_verdicts"]]}
    assert f"At 0 of {len(largest)} levels" in page(changed)
