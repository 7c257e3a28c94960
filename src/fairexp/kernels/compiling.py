"""How kernels are compiled: when first called, and kept on disk for later processes.

Before numba loads kept code, it prepares to compile more: it imports the rules for all that it can compile, and scipy's
linear algebra, which takes about as long again as importing numba. Machine code needs none of that, only numba's
runtime, which counts references to arrays. So `kernel` starts the runtime and loads. Whatever is compiled later,
here or elsewhere in the process, prepares for itself, because numba's compiler does so each time.

numba offers no public way to this, so it is taken with versions that are known to allow it, and with others `kernel` is
`njit(cache=True)`. numba prepares because compiled ufuncs need it, whose loading compiles a little
(https://github.com/numba/numba/issues/2198); none of the kernels is one.
"""

from __future__ import annotations

import gc
import sys
import warnings
from collections.abc import Callable
from functools import cached_property, partial
from importlib import import_module
from typing import Any, TypeVar, overload

Function = TypeVar("Function", bound=Callable[..., Any])

KNOWN = (0, 60), (0, 68)
"""The first and the last version of numba with which kept code was seen to load without preparation."""


def import_at_once(name: str) -> Any:
    """Import a large module without looking for garbage in what is being made of it, now or soon after."""
    if name in sys.modules or not gc.isenabled() or gc.get_freeze_count():
        return import_module(name)
    gc.disable()
    try:
        return import_module(name)
    finally:
        # Together these look at nothing, and let all that there is count as old, to be looked through rarely.
        gc.freeze()
        gc.unfreeze()
        gc.enable()


numba = import_at_once("numba")


def loads_directly(version: tuple[int | None, int | None] = numba.version_info.short) -> bool:
    """Whether kept code may be loaded without preparing to compile.

    >>> loads_directly((0, 68)), loads_directly((0, 59)), loads_directly((1, 0)), loads_directly((None, None))
    (True, False, False, False)
    """
    first, last = KNOWN
    return None not in version and first <= version <= last


@overload
def kernel(function: Function) -> Function: ...
@overload
def kernel(**options: Any) -> Callable[[Function], Function]: ...
def kernel(function: Any = None, **options: Any) -> Any:
    """Compile `function` with numba's `options`, as `njit(cache=True)` does; kept code loads faster."""
    if function is None:
        return partial(kernel, **options)
    if not loads_directly():
        return numba.njit(cache=True, **options)(function)
    compiled = numba.njit(**options)(function)
    # With NUMBA_DISABLE_JIT, functions are left as they are.
    if compiled is not function:
        compiled._cache = KeptCode(compiled)
    return compiled


class KeptCode:
    """In place of numba's cache for one function, which is set up when first used: not all kernels are, every time."""

    def __init__(self, dispatcher: Any) -> None:
        self._dispatcher = dispatcher
        self._nothing = dispatcher._cache

    @cached_property
    def _files(self) -> Any:
        """numba's own cache; one that keeps nothing if no folder can be written."""
        try:
            self._dispatcher.enable_caching()
            return self._dispatcher._cache
        except RuntimeError as error:
            warnings.warn(
                f"compiled code cannot be kept ({error}), so every process compiles anew, which takes up to a minute. "
                "Set NUMBA_CACHE_DIR to a folder that can be written and lasts.",
                RuntimeWarning,
                stacklevel=2,
            )
            return self._nothing
        finally:
            self._dispatcher._cache = self

    def load_overload(self, signature: Any, context: Any) -> Any:
        """The compiled function for these argument types; None if it is not kept."""
        found = self._load_directly(signature, context)
        return self._files.load_overload(signature, context) if found is None else found

    def _load_directly(self, signature: Any, context: Any) -> Any:
        try:
            from numba.core.runtime.nrt import rtsys

            rtsys.initialize(context)
            return self._files._load_overload(signature, context)
        except Exception:
            # Whatever it was, numba's own way is still open, and says better what is wrong.
            return None

    def __getattr__(self, name: str) -> Any:
        """All else is numba's affair: saving, flushing, where the files are."""
        return getattr(self._files, name)
