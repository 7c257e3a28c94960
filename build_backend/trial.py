"""What an installed wheel must be able to do: the README's five lines, the demo, and every ranker's contract.

Run as `python trial.py README.md`, by the interpreter of an environment into which the wheel was installed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

import fairexp
from fairexp import kernels
from fairexp.checks import check_ranker
from fairexp.registry import construct, ranker_names

KNOWN = {
    "n_features": 5,
    "n_groups": 2,
    "weights": np.linspace(-1.0, 1.0, 5),
    "window": 16,  # full within the rounds of the check, which looks for memory that grows
    "tolerance": 0.5,
    "shares": np.array([0.5, 0.5]),
}
TOLD_LABELS = "oracle"  # alone or inside another: no check can tell it the labels


def main() -> None:
    assert "site-packages" in str(Path(fairexp.__file__)), f"not the installed package: {fairexp.__file__}"
    (five_lines,) = re.findall(r"## Five lines\n\n```python\n(.*?)```", Path(sys.argv[1]).read_text(), re.DOTALL)
    exec(five_lines, {})
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, "-m", "fairexp", "demo", "--fast", "--out", str(Path(folder) / "demo")]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for name in ranker_names():
        if not name.endswith(TOLD_LABELS):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                check_ranker(lambda seed, name=name: construct(name, {}, known={**KNOWN, "seed": seed}))
    for level in kernels.LEVELS if kernels.LEVEL == "v3" else ():
        environment = {**os.environ, "FAIREXP_CPU": level}
        subprocess.run([sys.executable, "-c", five_lines], check=True, env=environment)


if __name__ == "__main__":
    main()
