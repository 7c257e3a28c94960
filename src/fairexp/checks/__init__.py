"""The contracts of fairexp's parts, as checks that anybody can run on a part of their own."""

from fairexp.checks.failure import CheckFailed
from fairexp.checks.ranker import check_ranker
from fairexp.checks.worlds import all_queries

__all__ = ["CheckFailed", "all_queries", "check_ranker"]
