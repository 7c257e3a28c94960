"""Kernels of one room to C, all in one process: starting Cython takes longer than translating a kernel.

`translate.py PACKAGE DEPFILE SOURCES -- OPTIONS`, in the folder where the C files go. Those that come out as they were
are left alone, so that nothing is compiled anew for them. DEPFILE tells ninja what each was made of.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from Cython.Compiler.Main import setuptools_main


def translate(source: Path, package: str, options: list[str]) -> str:
    """Make or keep the C file of one kernel, and return its line for the DEPFILE."""
    with TemporaryDirectory(dir=".") as folder:
        made, kept = Path(folder, f"{source.stem}.c"), Path(f"{source.stem}.c")
        name = f"--module-name={package}.{source.stem}"
        sys.argv = ["cython", "--depfile", *options, name, str(source), "-o", str(made)]
        setuptools_main()
        if not kept.exists() or kept.read_bytes() != made.read_bytes():
            made.replace(kept)
        _, made_of = made.with_suffix(".c.dep").read_text().split(":", 1)
    return f"{kept}:{made_of}"


def main() -> None:
    arguments = sys.argv[1:]
    end = arguments.index("--")
    package, depfile, *sources = arguments[:end]
    lines = [translate(Path(source), package, arguments[end + 1 :]) for source in sources]
    Path(depfile).write_text("".join(lines))


if __name__ == "__main__":
    main()
