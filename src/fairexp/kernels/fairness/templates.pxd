from libc.stdint cimport int64_t
from fairexp.kernels.fairness.subset_cover cimport Cover
from fairexp.kernels.fairness.depth_first cimport DepthFirst
from fairexp.kernels.fairness.local_search cimport LocalSearch
from fairexp.kernels.fairness.long_lists cimport LongLists
from fairexp.kernels.fairness.owed cimport Owed
from fairexp.kernels.fairness.rounds cimport Aim, Draw, Effort, Found, Round


cdef class Search:
    cdef readonly Round round
    cdef readonly Owed owed
    cdef Aim aim
    cdef DepthFirst walk
    cdef Cover cover
    cdef LongLists long
    cdef readonly LocalSearch exchanges
    cdef Found known
    cdef double[::1] tolerance
    cdef readonly Found best
    cdef readonly int64_t bound
    cdef readonly double gap_bound
    cdef readonly bint impossible

    cpdef void around(self, double limit, const int64_t[:] known, Effort effort)
    cdef void find(self, Effort effort) noexcept nogil
    cdef void find_around(self, double limit, Effort effort) noexcept nogil
    cdef bint put_together(self, double limit, Found known, int64_t rule, int64_t max_nodes) noexcept nogil
    cdef void change_little(self, int64_t max_looks) noexcept nogil
    cdef void show(self, int64_t[::1] shown, int64_t[::1] template, double[::1] after) noexcept nogil
