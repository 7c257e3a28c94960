from fairexp.arrays import Ints
from fairexp.kernels.fairness.owed import Owed
from fairexp.kernels.fairness.rounds import Round

class LocalSearch:
    template: Ints
    cost: int
    looks: int
    def __init__(self, round: Round, owed: Owed) -> None: ...
    def begin(self, template: Ints) -> None: ...
    def follow_draw(self, fairest: bool) -> None: ...
