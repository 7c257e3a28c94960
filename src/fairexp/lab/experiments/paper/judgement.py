"""From measurements to verdicts: supported, contradicted or undecided."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fairexp.lab.experiments.paper.results import Results
from fairexp.statistics import Effect, holm

ALPHA = 0.05
SUPPORTED, CONTRADICTED, UNDECIDED = "supported", "contradicted", "undecided"


@dataclass(frozen=True)
class Part:
    """One measurement that a claim rests on, turned so that above 0 speaks for it.

    `scale` says how to read it: "difference", "ratio" (the effect is of logarithms), or "count". With `band`, the claim
    is that the truth lies between -band and band; `two_sided` claims only that it is not 0; with `given`, the claim
    rests on another difference too, with that p-value. An `exact` part needs no statistics: its mean is 0 if and only
    if the claim holds.
    """

    name: str
    effect: Effect
    scale: str = "difference"
    band: float | None = None
    two_sided: bool = False
    exact: bool = False
    given: float | None = None

    @property
    def p(self) -> float | None:
        """The p-value of what must be refuted for a verdict: a mean of 0, or one at the nearest end of the band."""
        if self.exact:
            return None
        if self.band is not None:
            return self.effect.p_at(math.copysign(self.band, self.effect.mean))
        if self.given is not None and self.effect.p is not None:
            return max(self.effect.p, self.given)  # both must be refuted: the larger one counts
        return self.effect.p

    @property
    def favours(self) -> bool:
        """Whether it speaks for the claim, surely or not."""
        if self.exact:
            return self.effect.mean == 0
        if self.band is not None:
            return abs(self.effect.mean) < self.band
        return self.effect.mean > 0 or self.two_sided


@dataclass(frozen=True)
class Claim:
    """A finding of the paper: `parts` gives, for a results' place, all that must hold; none where it does not apply.

    `rule` says what is compared to decide it, for people, before there are any results.
    """

    id: str
    statement: str
    measure: str
    rule: str
    parts: Callable[[Results, str], Sequence[Part | None]]
    where: str = "setting"


@dataclass(frozen=True)
class Finding:
    """A claim judged in one place; `part` is the one that decides: the weakest, or the one that speaks against it."""

    claim: Claim
    place: str
    part: Part
    p: float | None
    verdict: str
    n_parts: int


def judge(claim: Claim, results: Results, places: Sequence[str]) -> list[Finding]:
    """The claim in every place, decided by one part in each; p-values are corrected after Holm for the places."""
    found: list[tuple[str, int, Part, float | None]] = []
    for place in places:
        parts = [part for part in claim.parts(results, place) if part is not None]
        if parts:
            found.append((place, len(parts), *deciding(parts)))
    corrected = holm([p for *_, p in found])
    return [
        Finding(claim, place, part, p, verdict_on(part, p), n_parts)
        for (place, n_parts, part, _), p in zip(found, corrected, strict=True)
    ]


def deciding(parts: Sequence[Part]) -> tuple[Part, float | None]:
    """The part that decides a claim which needs all of them, and the p-value of that.

    Where all speak for it, it is the least sure one, as all must be sure at once (an intersection-union test, which
    needs no correction for their number; Berger, 1982). Where some speak against it, it is the surest of these, which
    is enough, but was the surest of as many chances as there are parts.
    """
    against = [part for part in parts if not part.favours]
    exact = [part for part in against if part.exact]
    unknown = [part for part in parts if part.p is None and not part.exact]
    if exact or unknown:
        return (exact or unknown)[0], None
    if against:
        surest = min(against, key=lambda part: part.p or 0.0)
        return surest, min((surest.p or 0.0) * len(parts), 1.0)
    weakest = max(parts, key=lambda part: (part.p or 0.0, -part.effect.mean))
    return weakest, weakest.p


def verdict_on(part: Part, p: float | None) -> str:
    """What one part says, given its corrected p-value."""
    if not part.exact and (p is None or p >= ALPHA):
        return UNDECIDED
    return SUPPORTED if part.favours else CONTRADICTED


def effect_text(part: Part) -> str:
    """The effect and its interval for people: differences as they are, ratios as "times".

    >>> effect_text(Part("x", Effect(math.log(3.0), math.log(2.0), math.log(4.5), 0.01, 5), scale="ratio"))
    '3.00 times [2.00, 4.50]'
    """
    if part.exact:
        return f"{part.effect.mean:,.0f} of {part.effect.n:,} rounds disagree"
    shown = part.effect.exp() if part.scale == "ratio" else part.effect
    unit = " times" if part.scale == "ratio" else ""
    sign = "" if part.scale == "ratio" else "+"
    interval = "" if shown.low is None or shown.high is None else f" [{_short(shown.low)}, {_short(shown.high)}]"
    return f"{_short(shown.mean, sign)}{unit}{interval}"


def _short(value: float, sign: str = "") -> str:
    if not math.isfinite(value):
        return str(value)
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 3
    return f"{value:{sign},.{digits}f}"
