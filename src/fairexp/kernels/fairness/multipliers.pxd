from libc.stdint cimport int64_t
from fairexp.kernels.fairness.lattice cimport Lattice
from fairexp.kernels.fairness.rounds cimport Corridors, Round

cdef int64_t IMPOSSIBLE
cdef int64_t PASSES
cdef int64_t FEWEST
cdef int64_t STATES
cdef double NOWHERE
cdef double ROUNDING
cdef double FACTOR
cdef double WORTH_IT


cdef class Multipliers:
    cdef Round round
    cdef Lattice lattice
    cdef readonly Corridors corridors
    cdef readonly double[:, ::1] prices
    cdef readonly int64_t bound
    cdef readonly double[::1] through
    cdef readonly double[:, ::1] guide
    cdef double[::1] least
    cdef double[::1] most
    cdef double[::1] rate
    cdef double[::1] trial
    cdef double[::1] toward
    cdef double[::1] slope
    cdef double[::1] ahead

    cpdef void survey(self, double limit) noexcept nogil
    cdef bint allow_any(self) noexcept nogil
    cdef void price_pops(self) noexcept nogil
    cdef void price_ahead(self, double[::1] rate) noexcept nogil
    cdef void price_before(self) noexcept nogil
    cdef double most_paid(self, double[::1] rate) noexcept nogil
    cdef double bound_at(self, double[::1] rate) noexcept nogil
    cdef bint turn_uphill(self) noexcept nogil
    cdef int64_t climb(self, double* t, int64_t passes) noexcept nogil
    cdef double raise_multipliers(self, int64_t max_passes) noexcept nogil
