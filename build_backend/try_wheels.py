"""Build the sdist, a wheel for every Python 3.11 to 3.14 of this machine, and try each in a new environment.

Run as `make wheel`. Everything ends up in dist/.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
MINORS = range(11, 15)


def interpreters() -> Iterator[tuple[int, str]]:
    """The minor versions of Python 3 that run here, each with one interpreter: from PATH, or from pyenv."""
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for minor in MINORS:
        places = [shutil.which(f"python3.{minor}"), *kept.glob(f"3.{minor}.*/bin/python")]
        for place in filter(None, places):
            if _runs(str(place)):
                yield minor, str(place)
                break


def main() -> None:
    shutil.rmtree(DIST, ignore_errors=True)
    found = list(interpreters())
    _say(f"Python 3 of this machine: {', '.join(f'3.{minor}' for minor, _ in found)}")
    with tempfile.TemporaryDirectory() as folder:
        builder = _environment(found[0][1], Path(folder) / "build", "build")
        _run(builder, "-m", "build", "--sdist", "--outdir", str(DIST), str(ROOT))
        (sdist,) = DIST.glob("*.tar.gz")
        for minor, python in found:
            place = Path(folder) / f"new-3.{minor}"
            new = _environment(python, place)
            _run(new, "-m", "pip", "wheel", *QUIET, "--no-deps", "--wheel-dir", str(DIST), str(sdist))
            (wheel,) = DIST.glob(f"*-cp3{minor}-*.whl")
            _run(new, "-m", "pip", "install", *QUIET, f"{wheel}[lab,lp]")
            _run(new, str(ROOT / "build_backend" / "trial.py"), str(ROOT / "README.md"), cwd=place)
            _say(f"{wheel.name}: works on Python 3.{minor}")


QUIET = ("--quiet", "--disable-pip-version-check")


def _environment(python: str, place: Path, *packages: str) -> str:
    """The interpreter of a new environment with these packages."""
    subprocess.run([python, "-m", "venv", str(place)], check=True)
    new = str(place / ("Scripts" if sys.platform == "win32" else "bin") / "python")
    if packages:
        _run(new, "-m", "pip", "install", *QUIET, *packages)
    return new


def _run(*words: str, cwd: Path = ROOT) -> None:
    subprocess.run(words, check=True, cwd=cwd)


def _runs(python: str) -> bool:
    return subprocess.run([python, "-c", ""], check=False, capture_output=True).returncode == 0


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
