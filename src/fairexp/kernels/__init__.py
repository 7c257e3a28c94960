"""Compiled inner loops: arrays and scalars in, arrays and scalars out.

numba keeps compiled code beside the source, and makes it anew when the file that a function stands in has changed, but
not when a function that it calls from another file has. So compiled code is kept only as long as no kernel changes.
"""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path

from fairexp.kernels.compiling import kernel

STAMP = "fairexp-kernels.stamp"


def forget_stale(sources: Path, compiled: Path) -> bool:
    """Remove compiled code of other sources than these; whether there was any to remove."""
    digest = hashlib.sha256()
    for path in sorted(sources.glob("*.py")):
        digest.update(path.name.encode() + path.read_bytes())
    stamp = compiled / STAMP
    # A folder that cannot be written cannot hold anything of ours to remove either.
    with contextlib.suppress(OSError):
        if stamp.exists() and stamp.read_text() == digest.hexdigest():
            return False
        for path in [*compiled.glob("*.nbi"), *compiled.glob("*.nbc")]:
            path.unlink(missing_ok=True)
        compiled.mkdir(parents=True, exist_ok=True)
        stamp.write_text(digest.hexdigest())
        return True
    return False


@kernel
def _anchor() -> int:
    """Never called: where numba would keep it is where it keeps all kernels."""
    return 0


def _folder() -> Path | None:
    """Where compiled code is kept; None without a compiler (NUMBA_DISABLE_JIT) or a folder that can be written."""
    kept = _anchor.stats.cache_path if hasattr(_anchor, "stats") else None
    return None if kept is None else Path(kept)


def is_compiled() -> bool:
    """Whether the search for templates, which takes longest, was compiled before and kept."""
    folder = _folder()
    return folder is not None and any(folder.glob("templates.*.nbi"))


if (_kept := _folder()) is not None:
    forget_stale(Path(__file__).parent, _kept)
