from libc.stdint cimport int64_t
from fairexp.kernels.fairness.owed cimport Owed
from fairexp.kernels.fairness.rounds cimport Round


cdef class LocalSearch:
    cdef Round round
    cdef Owed owed
    cdef readonly int64_t[::1] template
    cdef readonly int64_t cost
    cdef readonly int64_t looks
    cdef double[::1] excess
    cdef double[::1] tried
    cdef int64_t[::1] count
    cdef int64_t[::1] gone

    cpdef void begin(self, const int64_t[:] template) noexcept nogil
    cdef void improve(self, int64_t max_looks) noexcept nogil
    cdef bint put(self, int64_t p, int64_t a, int64_t q, int64_t b) noexcept nogil
    cdef bint is_better(self) noexcept nogil
    cpdef void follow_draw(self, bint fairest) noexcept nogil
    cdef bint exchange(self, int64_t p) noexcept nogil
