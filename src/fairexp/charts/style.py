"""How series look: colours that the colour-blind can tell apart, and dashes and markers that need no colour at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fairexp.rankers import FAIR, RANKERS, WRAPPERS

EMPHASIS = 3.6
"""The width of FairExp's line; others are half as wide."""

FAIR_COLOURS = {"light": "#0072B2", "dark": "#56B4E9"}
COLOURS = ("#D55E00", "#009E73", "#CC79A7", "#E69F00", "#999999")
"""M. Okabe and K. Ito's palette, without the blues (FairExp's own), and without black and yellow (lost on one of the
two backgrounds)."""

DASHES = ((6, 3), (2, 2), (9, 3, 2, 3), (1, 3), (12, 4), (4, 2, 1, 2, 1, 2))
MARKERS = ("square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left")
INK = {"light": "#1b1f24", "dark": "#e8eaed"}
MUTED = {"light": "#5b6470", "dark": "#a3abb5"}
GRID = {"light": "#e4e7eb", "dark": "#30353c"}
PAPER = {"light": "#ffffff", "dark": "#16191d"}
BAND = {"light": "#cfe3f1", "dark": "#1f3a4d"}


@dataclass(frozen=True)
class Look:
    """How one series is drawn."""

    colour: str
    dash: tuple[int, ...]
    marker: str
    width: float


def looks(rankers: Sequence[str], theme: str, *, fair: str | None = None) -> dict[str, Look]:
    """A look for each ranker: that of `fair` is thick, solid and blue; no two others share dash, marker and colour.

    Where `fair` is not told, it is the first that the registry would call FairExp.

    >>> looks(["pairrank", "fairexp-pairrank"], "light")["fairexp-pairrank"]
    Look(colour='#0072B2', dash=(1, 0), marker='circle', width=3.6)
    """
    found: dict[str, Look] = {}
    n_others = 0
    emphasised = fair or next((name for name in rankers if name.startswith(FAIR)), None)
    for name in rankers:
        if name == emphasised:
            found[name] = Look(FAIR_COLOURS[theme], (1, 0), "circle", EMPHASIS)
            continue
        choice = (list_[n_others % len(list_)] for list_ in (COLOURS, DASHES, MARKERS))
        colour, dash, marker = choice
        found[name] = Look(colour, dash, marker, EMPHASIS / 2)  # type: ignore[arg-type]
        n_others += 1
    return found


def display_name(ranker: str) -> str:
    """The published name.

    >>> display_name("fairexp-pairrank"), display_name("dbgd"), display_name("my.module:Mine")
    ('FairExp-PairRank', 'DBGD', 'Mine')
    >>> display_name("offr-pairrank"), display_name("offr")
    ('OFFR-PairRank', 'OFFR')
    """
    for prefix, around in WRAPPERS.items():
        if ranker.startswith(prefix):
            outer = RANKERS.get(prefix.removesuffix("-"), around).rpartition(":")[2]
            return f"{outer}-{display_name(ranker.removeprefix(prefix))}"
    return RANKERS.get(ranker, ranker).rpartition(":")[2]
