"""Values of options that need no judgement: texts, whole numbers in range, and what was not given.

Typer has pydantic judge every value, also where an option was not given, and loading that takes longer than loading
numpy. So plain values are taken as they are. Whatever is not plain, and so whatever is wrong, is left to Typer.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from typer.core import TyperCommand, TyperGroup

NOT_PLAIN = object()


class PlainCommand(TyperCommand):
    """A command whose options take plain values as they are."""

    def get_params(self, ctx: Any) -> list[Any]:
        return [_plain_first(parameter) for parameter in super().get_params(ctx)]


class PlainGroup(TyperGroup):
    """A group of commands whose own options take plain values as they are."""

    def get_params(self, ctx: Any) -> list[Any]:
        return [_plain_first(parameter) for parameter in super().get_params(ctx)]


def _plain_first(parameter: Any) -> Any:
    if hasattr(parameter, "type_descriptor"):  # older versions of Typer do without pydantic
        parameter.process_value = partial(_taken, parameter, type(parameter).process_value)
    return parameter


def _taken(parameter: Any, judge: Callable[[Any, Any, Any], Any], context: Any, value: Any) -> Any:
    plain = _plain(parameter, value)
    if plain is NOT_PLAIN:
        return judge(parameter, context, value)
    return plain if parameter.callback is None else parameter.callback(context, parameter, plain)


def _plain(parameter: Any, value: Any) -> Any:
    """What Typer would make of a value, or `NOT_PLAIN` where that is not plain to see."""
    kind, limits = parameter.type_descriptor.annotation, parameter.type_descriptor.parameter_info
    several = parameter.multiple or parameter.nargs == -1
    if value is None and not parameter.required:
        return () if several else None
    if several:
        return list(value) if kind == list[str] and value and all(type(each) is str for each in value) else NOT_PLAIN
    if kind is str and type(value) is str:
        return value
    if kind is int and (type(value) is int or _is_whole(value)):
        number, low, high = int(value), limits.min, limits.max
        return number if (low is None or low <= number) and (high is None or number <= high) else NOT_PLAIN
    return NOT_PLAIN


def _is_whole(value: Any) -> bool:
    """Whether this is a text of a few digits and nothing else."""
    return isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 16
