from libc.stdint cimport int64_t
from fairexp.kernels.fairness.owed cimport Owed
from fairexp.kernels.fairness.lattice cimport Lattice
from fairexp.kernels.fairness.rounds cimport Round

cdef int64_t PASSES
cdef int64_t FEWEST
cdef int64_t STATES
cdef double NOWHERE
cdef double ROUNDING


cdef class DualPrices:
    cdef Round round
    cdef Owed owed
    cdef readonly Lattice lattice
    cdef readonly int64_t bound
    cdef readonly double paid
    cdef readonly double[::1] by_class
    cdef readonly double[::1] ahead
    cdef readonly int64_t[::1] word
    cdef double[::1] rate
    cdef double[::1] best
    cdef double[::1] slope
    cdef double[:, ::1] prices

    cpdef void begin(self) noexcept nogil
    cpdef void survey(self, int64_t known) noexcept nogil
    cdef void price_pops(self) noexcept nogil
    cdef void price_ahead(self) noexcept nogil
    cdef double most_paid(self, int64_t c) noexcept nogil
    cdef double bound_at(self, const double[:] rate) noexcept nogil
    cdef double follow(self) noexcept nogil
