import numpy as np
from numpy.typing import NDArray

from fairexp.arrays import Ints

END: int
FULL: int
BAD_GRADE: int
NO_QUERY: int
NO_VALUE: int
BAD_ID: int
TOO_WIDE: int
DUPLICATE: int
GRADE_COLUMN: int

def parse_lines(
    text: NDArray[np.uint8],
    at: int,
    features: NDArray[np.float32],
    grades: Ints,
    runs: Ints,
    odd: Ints,
    has_query: bool,
) -> tuple[int, int, int, int, int, int, int, int]: ...
def largest_id(text: NDArray[np.uint8]) -> int: ...
