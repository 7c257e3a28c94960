"""Every exception and warning that fairexp raises, each with its remedy.

All derive from `FairexpError`, so that a caller can catch everything of ours in one clause. A message says what
was given, what was expected, and what to do.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any


class FairexpError(Exception):
    """Something that fairexp refuses to do; the ranker and its ledger are as they were before the call."""


class ArgumentError(FairexpError, ValueError):
    """An argument does not make sense; `argument` names it.

    >>> str(ArgumentError("tolerance", -1, "a number of at least 0"))
    'tolerance: expected a number of at least 0, got -1'
    """

    def __init__(self, argument: str, given: object, expected: str, remedy: str = "") -> None:
        self.argument = argument
        self.given = given
        self.expected = expected
        self.remedy = remedy
        message = f"{argument}: expected {expected}, got {given}"
        super().__init__(f"{message}. {remedy}" if remedy else message)

    def __reduce__(self) -> tuple[type[ArgumentError], tuple[str, str, str, str]]:
        """What a worker process sends home: the value as it is printed."""
        return type(self), (self.argument, str(self.given), self.expected, self.remedy)


class ForeignRankingError(FairexpError, ValueError):
    """Feedback came for a ranking that this ranker did not show."""


class StateError(FairexpError, ValueError):
    """A saved state does not fit the ranker that is to be restored from it."""


class CannotScoreError(FairexpError):
    """This ranker has no opinion on documents it was not told about (an oracle, for one)."""


class DataError(FairexpError, ValueError):
    """A file cannot be read as ranking data; `path` and, where known, `line` (from 1) say where.

    >>> str(DataError("train.txt", "no query id", line=3))
    'train.txt, line 3: no query id'
    """

    def __init__(self, path: str | Path, problem: str, *, line: int | None = None) -> None:
        self.path = str(path)
        self.line = line
        self.problem = problem
        where = self.path if line is None else f"{self.path}, line {line}"
        super().__init__(f"{where}: {problem}")

    def __reduce__(self) -> tuple[Any, tuple[str, str], dict[str, Any]]:
        return partial(type(self), line=self.line), (self.path, self.problem), {}


class RunExistsError(FairexpError):
    """A folder that already holds a run would have been overwritten."""


class ClusterLostError(FairexpError):
    """The head of a Ray cluster no longer answers."""

    def __init__(self, address: str | None) -> None:
        self.address = address
        where = "" if address is None else f" at {address}"
        super().__init__(
            f"the head of the Ray cluster{where} no longer answers. Runs that ended are kept: "
            "start the cluster again, and the same command resumes."
        )

    def __reduce__(self) -> tuple[type[ClusterLostError], tuple[str | None]]:
        """What a process sends to another."""
        return type(self), (self.address,)


class MissingExtraError(FairexpError, ImportError):
    """An optional part of fairexp was used without its extra being installed."""


class RunWarning(UserWarning):
    """Something about a run limits what its result means; `Result.notes` says the same."""


class ToleranceWarning(UserWarning):
    """The tolerance lies below what the exposure curve lets any sequence of templates reach."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A question that names the one of `known` that `name` may have been meant for; "" where there is none.

    >>> did_you_mean("prise", ["price", "rating"])
    "Did you mean 'price'?"
    """
    import difflib

    near = difflib.get_close_matches(name, list(known), n=1)
    return f"Did you mean {near[0]!r}?" if near else ""
