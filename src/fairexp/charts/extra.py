"""Altair, vl-convert and Jinja2 of the extra `fairexp[charts]`, and the script that one of them brings along."""

from __future__ import annotations

import gzip
import logging
import os
import subprocess
import sys
import tempfile
import zlib
from contextlib import suppress
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

from fairexp.extras import require

LOG = logging.getLogger("fairexp.charts")
PROGRAM = """
import gzip, os, sys
import vl_convert
os.nice(10)
sys.stdout.buffer.write(gzip.compress(vl_convert.javascript_bundle().encode(), mtime=0))
"""
"""Bundling takes seconds and holds the interpreter's lock all the while, so another process does it."""


def altair() -> Any:
    """The module that defines charts."""
    return _needed("altair")


def vl_convert() -> Any:
    """The module that draws them, and that brings Vega's scripts along."""
    return _needed("vl_convert")


def jinja2() -> Any:
    """The module that fills the templates of pages."""
    return _needed("jinja2")


@lru_cache
def compressed_bundle() -> bytes:
    """The script, compressed (gzip): from the cache folder, or else bundled now and kept there."""
    file = cache_folder() / f"vega-{vl_convert().__version__}.js.gz"
    with suppress(OSError, EOFError, zlib.error):
        found = file.read_bytes()
        if gzip.decompress(found):  # else it is damaged, and bundled anew
            return found
    made = subprocess.run([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, check=True).stdout
    try:
        _keep(file, made)
    except OSError as error:
        LOG.info(f"charts: Vega's script cannot be kept in {file.parent} ({error}); the next start bundles it again")
    return made


def bundle() -> str:
    """The script as text."""
    return gzip.decompress(compressed_bundle()).decode()


def cache_folder() -> Path:
    """Where the user's caches are: `$XDG_CACHE_HOME/fairexp`, or `~/.cache/fairexp`."""
    home = Path(os.environ.get("HOME", os.devnull))  # nothing can be kept in the latter
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "fairexp"


def _keep(file: Path, content: bytes) -> None:
    """Whole or not at all: another process may look for it meanwhile."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=file.parent, delete=False) as written:
        written.write(content)
    Path(written.name).replace(file)


def _needed(module: str) -> Any:
    require("charts", "fairexp.charts", module)
    return import_module(module)
