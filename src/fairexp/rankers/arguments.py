"""Constructors that hand arguments on: a class names those of its own, and `**others` stands for its base's."""

from __future__ import annotations

import inspect
from typing import TypedDict

from fairexp.randomness import Seed


class RivalArguments(TypedDict, total=False):
    """What every ranker that tries rivals takes."""

    length: int
    step: float
    learning_rate: float
    decay: float
    seed: Seed


class MGDArguments(RivalArguments, total=False):
    """What every ranker that tries several at once takes."""

    candidates: int


def whole_signature(cls: type) -> inspect.Signature:
    """The arguments of a class with those that its constructor hands on; a seed comes last.

    >>> class Base:
    ...     def __init__(self, size, *, rate=1.0, seed=None): ...
    >>> class Derived(Base):
    ...     def __init__(self, size, *, steps=3, **others): ...
    >>> whole_signature(Derived)
    <Signature (size, *, rate=1.0, steps=3, seed=None)>
    """
    found: list[inspect.Parameter] = []
    for base in cls.__mro__:
        if "__init__" in base.__dict__:
            own = list(inspect.signature(base.__dict__["__init__"]).parameters.values())[1:]
            handed_on = [parameter for parameter in own if parameter.kind is inspect.Parameter.VAR_KEYWORD]
            known = {parameter.name for parameter in found}
            found = [parameter for parameter in own if parameter.name not in known] + found
            if not handed_on:
                break
            found.remove(handed_on[0])
    return inspect.Signature(sorted(found, key=lambda parameter: (parameter.kind, parameter.name == "seed")))
