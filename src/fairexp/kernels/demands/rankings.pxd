from libc.stdint cimport int64_t
from fairexp.kernels.demands.halves cimport Halves
from fairexp.kernels.demands.owed cimport Owed
from fairexp.kernels.demands.walk cimport Walk
from fairexp.kernels.search.rounds cimport Effort, Round


cdef class RankingSearch:
    cdef Round round
    cdef Owed owed
    cdef Walk walk
    cdef Halves halves
    cdef readonly int64_t[::1] template
    cdef readonly int64_t cost
    cdef readonly int64_t bound
    cdef readonly bint exact
    cdef bint yielded
    cdef readonly double[::1] gap_bound
    cdef int64_t[::1] gone

    cdef void find(self, bint fairest, Effort effort) noexcept nogil
    cdef void complete(self, const int64_t[:] top, bint fairest) noexcept nogil
    cdef void yield_by_priority(self) noexcept nogil
    cdef void exchange_neighbours(self, bint fairest) noexcept nogil
    cdef bint exchange(self, int64_t p) noexcept nogil
    cdef void show(self, int64_t[::1] shown) noexcept nogil
