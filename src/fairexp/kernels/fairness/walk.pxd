from libc.stdint cimport int64_t
from fairexp.kernels.fairness.owed cimport Owed
from fairexp.kernels.fairness.dual_prices cimport DualPrices
from fairexp.kernels.fairness.reach cimport Reach
from fairexp.kernels.fairness.rounds cimport Found, Round


cdef class Walk:
    cdef Round round
    cdef Owed owed
    cdef Reach reach
    cdef DualPrices tolls
    cdef bint tolled
    cdef readonly Found found
    cdef readonly int64_t bound
    cdef readonly bint finished
    cdef readonly bint refused
    cdef int64_t[::1] gone
    cdef int64_t[::1] path
    cdef int64_t[::1] total
    cdef int64_t[::1] state
    cdef double[::1] paid
    cdef int64_t[::1] waiting
    cdef double[:, ::1] gain

    cdef void add_gain(self, int64_t p, int64_t a) noexcept nogil
    cdef bint can_end_inside(self, int64_t p) noexcept nogil
    cdef bint is_too_dear(self, int64_t p, int64_t a, int64_t price, int64_t least) noexcept nogil
    cdef void search(self, int64_t budget, int64_t max_nodes) noexcept nogil
    cdef void deepen(self, bint tolled, int64_t max_nodes) noexcept nogil
    cdef void descend(self) noexcept nogil
