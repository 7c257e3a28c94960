"""meson-python, with a C compiler from the package index where the machine has none.

Run as a script it prints what a build needs, one requirement a line: `pip install $(python fairexp_build.py)`. With the
name of an extra it prints what the package needs with that extra.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import sysconfig
import tomllib
from pathlib import Path
from typing import Any

COMPILERS = ("cc", "gcc", "clang", "cl", "clang-cl")
SUBSTITUTE = "ziglang"
MISSING = (
    "fairexp's kernels are written for a C compiler, and none was found: no CC in the environment, none of "
    f"{', '.join(COMPILERS)} on PATH, and no package {SUBSTITUTE}, which would serve as one. Install one of them: "
    f"`apt-get install gcc` (Debian, Ubuntu), `xcode-select --install` (macOS), or `pip install {SUBSTITUTE}`."
)


def has_compiler() -> bool:
    """Whether the machine has a C compiler, or the environment names one."""
    return "CC" in os.environ or any(shutil.which(name) for name in COMPILERS)


def substitute() -> list[str]:
    """What must be installed beside the fixed requirements."""
    return [] if has_compiler() else [SUBSTITUTE]


def prepare() -> None:
    """Let tools of this environment be found, and the package's compiler stand in where there is no other."""
    os.environ["PATH"] = os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", "")])
    if has_compiler():
        return
    try:
        import ziglang
    except ImportError:
        raise SystemExit(MISSING) from None
    zig = Path(ziglang.__file__).parent / "zig"
    # Left alone, this compiler writes for the processor that it runs on.
    os.environ["CC"], os.environ["AR"] = f"{zig} cc -mcpu=baseline", f"{zig} ar"


def get_requires_for_build_wheel(settings: dict[str, Any] | None = None) -> list[str]:
    return substitute()


def get_requires_for_build_editable(settings: dict[str, Any] | None = None) -> list[str]:
    return substitute()


def get_requires_for_build_sdist(settings: dict[str, Any] | None = None) -> list[str]:
    return substitute()


def build_wheel(folder: str, settings: dict[str, Any] | None = None, metadata: str | None = None) -> str:
    import mesonpy

    prepare()
    return mesonpy.build_wheel(folder, settings, metadata)


def build_editable(folder: str, settings: dict[str, Any] | None = None, metadata: str | None = None) -> str:
    import mesonpy

    prepare()
    return mesonpy.build_editable(folder, settings, metadata)


def build_sdist(folder: str, settings: dict[str, Any] | None = None) -> str:
    import mesonpy

    prepare()
    return mesonpy.build_sdist(folder, settings)


def requirements() -> list[str]:
    """All that a build in this environment needs."""
    return [*_settings()["build-system"]["requires"], *substitute()]


def run_requirements(extra: str) -> list[str]:
    """What the package needs when it is used with this extra, and the extras that it names."""
    project = _settings()["project"]
    needed, extras = [*project["dependencies"]], [extra]
    for name in extras:
        for each in project["optional-dependencies"][name]:
            own = re.fullmatch(rf"{project['name']}\[(.*)\]", each)
            if own is None:
                needed.append(each)
            else:
                extras += [other for other in own[1].split(",") if other not in extras]
    return needed


def _settings() -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())


if __name__ == "__main__":
    found = run_requirements(sys.argv[1]) if sys.argv[1:] else requirements()
    sys.stdout.write("\n".join(found) + "\n")
