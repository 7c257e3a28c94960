"""`make docs`: every table, chart and page that is made from records or from the code, made again. Measures nothing.

| page | made from | measured by |
|---|---|---|
| README.md, docs/images/unfairness.svg | benchmarks/readme.json, picture.json | `make readme-record MQ2008=DIR` |
| docs/results/README.md, docs/results/mq2008 | docs/results/mq2008/records.zip | `make results-record MQ2008=DIR` |
| docs/results/leads.md | docs/results/leads.json | `python -m benchmarks.leads` |
| docs/rankers.md | benchmarks/rankers.json | `make rankers-table` |
| docs/performance.md | benchmarks/machines/*.json | `make bench` |
| docs/performance/*.svg | docs/performance/*.json | `python -m benchmarks.curves` |
| docs/cli.md | the commands themselves | |
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path

from benchmarks import curves, document, leads_page, rankers, readme, results
from fairexp.cli.reference import reference

ROOT = Path(__file__).parents[1]


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


PAGES: dict[str, Callable[[str], str]] = {
    "README.md": lambda page: readme.with_table(page, json.loads(_read(readme.TABLE))),
    "docs/images/unfairness.svg": lambda page: readme.picture(json.loads(_read(readme.PICTURE))),
    "docs/rankers.md": lambda page: rankers.with_table(page, json.loads(_read(rankers.RECORD))),
    "docs/performance.md": lambda page: document.with_figures(page, document.kept()),
    "docs/results/README.md": results.with_claims,
    "docs/results/leads.md": lambda page: leads_page.with_tables(page, leads_page.read_record()),
    "docs/cli.md": lambda page: reference(),
}
"""What each page should be, given what it is."""


def stale() -> list[str]:
    """The pages that differ from what their records say."""
    return [name for name, made in PAGES.items() if _read(ROOT / name) != made(_read(ROOT / name))]


def main() -> None:
    """Draw the report of docs/results and the charts, then write every page that is not as it should be."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pages", description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--pages-only", action="store_true", help="leave the report of docs/results, and charts, as they are"
    )
    if not parser.parse_args().pages_only:
        results.draw()
        curves.redraw()
        print("drawn docs/results/mq2008 and docs/performance")
    for name in stale():
        path = ROOT / name
        path.write_text(PAGES[name](_read(path)), encoding="utf-8")
        print(f"written {name}")


if __name__ == "__main__":
    main()
