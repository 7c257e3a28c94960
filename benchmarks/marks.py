"""Parts of pages that are made from records: what stands between two marks, and nothing else of the page."""

from __future__ import annotations

from collections.abc import Sequence


def between(page: str, name: str, lines: Sequence[str]) -> str:
    """The page with `lines` between its marks of that name.

    >>> between("a\\n<!-- x: begin -->\\nold\\n<!-- x: end -->\\nb", "x", ["new"])
    'a\\n<!-- x: begin -->\\nnew\\n<!-- x: end -->\\nb'
    """
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, opened, rest = page.partition(begin)
    _, closed, after = rest.partition(end)
    if not opened or not closed:
        raise ValueError(f"page: expected the marks {begin} and {end}, got a page without them")
    return "\n".join([before + begin, *lines, end + after])
