from libc.stdint cimport int64_t
from fairexp.kernels.search.covers cimport Cover
from fairexp.kernels.search.rounds cimport Aim, Corridors, Effort, Found, Round
from fairexp.kernels.search.depth_first cimport DepthFirst

cdef double GROWTH


cdef class ShortLists:
    cdef Round round
    cdef DepthFirst walk
    cdef Cover cover
    cdef Corridors room
    cdef readonly Found best
    cdef readonly Found fair
    cdef readonly int64_t bound
    cdef readonly double gap_bound

    cdef bint seek(self, double limit, Found known, int64_t rule, double resolution, int64_t max_nodes) noexcept nogil
    cdef double top_limit(self) noexcept nogil
    cdef void least_gap(self, double above, double resolution, int64_t max_nodes) noexcept nogil
    cdef void choose(self, Aim aim, Effort effort) noexcept nogil
