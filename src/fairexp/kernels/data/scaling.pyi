import numpy as np
from numpy.typing import NDArray

from fairexp.arrays import Ints

def scale_queries(features: NDArray[np.float32], offsets: Ints) -> None: ...
