from libc.stdint cimport int64_t
from fairexp.kernels.fairness.subset_cover cimport Cover
from fairexp.kernels.fairness.lattice cimport Lattice
from fairexp.kernels.fairness.rounds cimport Found, Round
from fairexp.kernels.fairness.multipliers cimport Multipliers

cdef int64_t TRIES
cdef double GOLDEN
cdef double OTHER


cdef class FirstGuess:
    cdef Round round
    cdef Multipliers multipliers
    cdef Lattice lattice
    cdef Round below
    cdef Cover cover
    cdef readonly Found found
    cdef int64_t n_top
    cdef int64_t[::1] gone
    cdef double[::1] lead

    cdef double key(self, int64_t g, int64_t s, bint guided) noexcept nogil
    cdef void fill_top(self, bint guided) noexcept nogil
    cdef void pass_on(self) noexcept nogil
    cdef int64_t fill(self, bint guided, double limit, int64_t max_looks) noexcept nogil
    cpdef void search(self, double limit, int64_t max_looks) noexcept nogil
