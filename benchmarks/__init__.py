"""How fast fairexp is, as ratios to a floor or a peer that is measured in the same run: `python -m benchmarks`."""

import os

# One core: to be said before numpy is first imported.
for _library in ("OPENBLAS", "OMP", "MKL"):
    os.environ[f"{_library}_NUM_THREADS"] = "1"
