"""The script that draws the page's charts, ready to be sent."""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass

from fairexp.charts.extra import compressed_bundle


@dataclass(frozen=True, slots=True)
class Script:
    """A script compressed and not, and a digest that names it."""

    compressed: bytes
    plain: bytes
    digest: str

    @staticmethod
    def made() -> Script:
        """Vega's; takes seconds if it is not in the user's cache folder, and holds up nobody else."""
        compressed = compressed_bundle()
        return Script(compressed, gzip.decompress(compressed), hashlib.sha256(compressed).hexdigest()[:16])
