from fairexp.kernels.search.lattice cimport Lattice
from fairexp.kernels.search.rounds cimport Corridors, Round

cdef long long IMPOSSIBLE
cdef long long PASSES
cdef long long FEWEST
cdef long long STATES
cdef double NOWHERE
cdef double ROUNDING
cdef double FACTOR
cdef double WORTH_IT


cdef class Tolls:
    cdef Round round
    cdef Lattice lattice
    cdef readonly Corridors corridors
    cdef readonly double[:, ::1] prices
    cdef readonly long long bound
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
    cdef long long climb(self, double* t, long long passes) noexcept nogil
    cdef double raise_tolls(self, long long max_passes) noexcept nogil
