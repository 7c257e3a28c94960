"""Altair, vl-convert and Jinja2, which come with the extra `fairexp[charts]`."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from fairexp.errors import MissingExtraError


def altair() -> Any:
    """The module that defines charts."""
    return _needed("altair")


def vl_convert() -> Any:
    """The module that draws them, and that brings Vega's scripts along."""
    return _needed("vl_convert")


def jinja2() -> Any:
    """The module that fills the templates of pages."""
    return _needed("jinja2")


def _needed(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"charts: the package {module!r} is not installed; run: pip install 'fairexp[charts]'"
        ) from error
