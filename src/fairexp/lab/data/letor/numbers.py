"""The few numbers that the parsing kernel leaves to Python, rounded to float32 correctly."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction

import numpy as np

_NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_LARGEST = float(np.finfo(np.float32).max)
_NEGLIGIBLE = 1e-60


def nearest_float32(token: bytes) -> float:
    """The float32 nearest to the decimal number `token`; one too large for float32 becomes the largest there is.

    Some published collections mark missing values with the largest float64, hence no error for those. Anything that
    is not a plain finite number raises a `ValueError`.

    >>> nearest_float32(b"1e-46"), nearest_float32(b"0.1"), nearest_float32(b"-1e300")
    (0.0, 0.10000000149011612, -3.4028234663852886e+38)
    """
    if not _NUMBER.fullmatch(token):
        raise ValueError(token)
    text = token.decode("ascii")
    value = float(text)
    if abs(value) >= _LARGEST:
        return math.copysign(_LARGEST, value)
    if abs(value) < _NEGLIGIBLE:
        return 0.0
    # Rounding to float64 and then to float32 errs where the first step lands on the border of the second.
    exact = Fraction(Decimal(text))
    nearest = np.float32(value)
    around = (nearest, np.nextafter(nearest, np.float32(-np.inf)), np.nextafter(nearest, np.float32(np.inf)))
    finite = [candidate for candidate in around if np.isfinite(candidate)]
    return float(min(finite, key=lambda x: (abs(Fraction(float(x)) - exact), x.view(np.uint32) & 1)))
