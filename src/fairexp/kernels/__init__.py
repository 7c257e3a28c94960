"""Compiled inner loops: arrays and scalars in, arrays and scalars out.

Each folder below is named after who uses it. Its modules are compiled when the package is built, once for each level of
the processor's instructions: `baseline`, which every processor has, and on x86-64 also `v3` (AVX2, FMA), which most
have. The level is chosen here, on import; the environment variable FAIREXP_CPU forces one. Both give the same numbers.
Sources are Python with C types (Cython); beside each stands a `.pyi` with the types that callers see.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, spec_from_file_location
from types import ModuleType

from fairexp.kernels.cpu import has_v3

LEVELS = ("baseline", "v3")


def choose_level(forced: str | None, has_v3: bool) -> str:
    """The level to use: what is `forced`, else the highest that the processor has.

    >>> choose_level(None, True), choose_level("", False), choose_level("baseline", True)
    ('v3', 'baseline', 'baseline')
    """
    if forced and forced not in LEVELS:
        raise ImportError(f"FAIREXP_CPU is {forced!r}; expected one of {', '.join(LEVELS)}, or leave it unset")
    if forced == "v3" and not has_v3:
        raise ImportError("FAIREXP_CPU is 'v3', and this processor lacks AVX2, FMA or BMI2; use 'baseline' or unset it")
    return forced or ("v3" if has_v3 else "baseline")


class ChosenLevel:
    """Finds `fairexp.kernels.room.name` in the file that was compiled for one level, `name_level`."""

    def __init__(self, level: str) -> None:
        self.level = level

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Where the module `name` is compiled for this level; None if it is none of ours."""
        if not name.startswith(f"{__name__}.") or name.count(".") != 3 or name.endswith(LEVELS):
            return None
        compiled = find_spec(f"{name}_{self.level}")
        return None if compiled is None else spec_from_file_location(name, compiled.origin)


LEVEL = choose_level(os.environ.get("FAIREXP_CPU"), has_v3())
sys.meta_path.insert(0, ChosenLevel(LEVEL))
