"""How a check says that a promise was broken."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class CheckFailed(AssertionError):
    """A part does not keep its contract: `promise` says which part of it, `problem` says how.

    >>> str(CheckFailed("seeds repeat", "round 3 showed [1, 0] and [0, 1]"))
    'seeds repeat: round 3 showed [1, 0] and [0, 1]'
    """

    def __init__(self, promise: str, problem: str) -> None:
        self.promise = promise
        self.problem = problem
        super().__init__(f"{promise}: {problem}")


@contextmanager
def keeping(promise: str) -> Iterator[None]:
    """Turn whatever goes wrong inside into a `CheckFailed` that names the promise."""
    try:
        yield
    except CheckFailed:
        raise
    except Exception as error:
        raise CheckFailed(promise, f"{type(error).__name__} was raised: {error}") from error


def demand(kept: bool, promise: str, problem: str) -> None:
    """Raise a `CheckFailed` unless `kept`."""
    if not kept:
        raise CheckFailed(promise, problem)
