from libc.stdint cimport int64_t
from fairexp.kernels.demands.exchanges cimport Exchanges
from fairexp.kernels.demands.halves cimport Halves
from fairexp.kernels.demands.owed cimport Owed
from fairexp.kernels.demands.walk cimport Walk
from fairexp.kernels.search.rounds cimport Effort, Round

cdef int64_t LOOKS


cdef class RankingSearch:
    cdef Round round
    cdef Owed owed
    cdef Walk walk
    cdef Halves halves
    cdef Exchanges exchanges
    cdef readonly int64_t[::1] template
    cdef readonly int64_t cost
    cdef readonly int64_t bound
    cdef readonly bint exact
    cdef readonly double[::1] gap_bound
    cdef int64_t[::1] gone

    cdef void find(self, bint fairest, Effort effort) noexcept nogil
    cdef void approach(self, bint fairest, Effort effort) noexcept nogil
    cdef void complete(self, const int64_t[:] known, bint fairest, int64_t max_looks) noexcept nogil
    cdef void yield_by_priority(self, int64_t max_looks) noexcept nogil
    cdef void show(self, int64_t[::1] shown) noexcept nogil
