"""What the processor can do."""

from cython.cimports.fairexp.kernels.cpu import processor_has_v3


def has_v3() -> bool:
    """Whether instructions of level x86-64-v3 (AVX2, FMA, BMI2) may be used."""
    return processor_has_v3()
