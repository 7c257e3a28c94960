"""Ids that callers choose, in a path or a query: everything that a body may hold as an id comes through whole."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from starlette.convertors import StringConvertor, register_url_convertor


class _IdConvertor(StringConvertor):
    """All that is left of a path. `{id:path}` ends before a line feed, and would name another id."""

    regex = "(?s:.+)"


register_url_convertor("id", _IdConvertor())

Id = Annotated[str, Field(min_length=1, max_length=256)]
"""As long as a `Name` in a body; from the path where a route's path names the parameter, else from the query."""
