from fairexp.arrays import Floats, Ints

def draft_by_score(scores: Floats, rival_scores: Floats, uniforms: Floats, shown: Ints, team: Floats) -> None: ...
def draft_duel(
    features: Floats,
    weights: Floats,
    direction: Floats,
    step: float,
    uniforms: Floats,
    scores: Floats,
    shown: Ints,
    team: Floats,
) -> None: ...
def draw_interleaved(current: Ints, rival: Ints, uniforms: Floats, power: float) -> tuple[Ints, Floats]: ...
def expected_sign(chance: Floats) -> float: ...
