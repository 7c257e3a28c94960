from libc.stdint cimport int64_t
from fairexp.kernels.search.long_lists cimport LongLists
from fairexp.kernels.search.rounds cimport Aim, Draw, Effort, Found, Round
from fairexp.kernels.search.short_lists cimport ShortLists
from fairexp.kernels.search.depth_first cimport DepthFirst


cdef class Search:
    cdef Round round
    cdef Aim aim
    cdef DepthFirst walk
    cdef ShortLists short
    cdef LongLists long
    cdef readonly int64_t[::1] template
    cdef readonly int64_t cost
    cdef readonly int64_t bound
    cdef readonly double gap_bound

    cdef void find(self, Aim aim, Effort effort) noexcept nogil
    cdef void show(self, int64_t[::1] shown, int64_t[::1] template, double[::1] after) noexcept nogil
