import numpy as np
from numpy.typing import NDArray

from fairexp.arrays import Bools, Floats

SHAPE: tuple[int, int]
ANYTHING: int

def any_met(numbers: Floats, tags: NDArray[np.uint16]) -> bool: ...
def note(numbers: Floats, tags: NDArray[np.uint16]) -> Bools: ...
