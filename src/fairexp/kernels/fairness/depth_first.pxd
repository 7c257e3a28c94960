from libc.stdint cimport int64_t
from fairexp.kernels.fairness.lattice cimport Lattice
from fairexp.kernels.fairness.reach cimport Reach
from fairexp.kernels.fairness.rounds cimport Corridors, Found, Round
from fairexp.kernels.fairness.tables cimport Tables

cdef int64_t NO_LIMIT


cdef class DepthFirst:
    cdef Round round
    cdef Reach reach
    cdef Lattice lattice
    cdef Tables tables
    cdef readonly Found found
    cdef bint for_gap
    cdef Corridors goal
    cdef double[:, ::1] gain
    cdef int64_t[::1] gone
    cdef int64_t[:, ::1] choices
    cdef int64_t[::1] total
    cdef int64_t[::1] state
    cdef int64_t[::1] n_choices
    cdef int64_t[::1] tried
    cdef int64_t[::1] path

    cdef double key(self, int64_t g) noexcept nogil
    cdef void stop_at(self, int64_t p, int64_t price) noexcept nogil
    cdef int64_t price(self, int64_t p, int64_t g) noexcept nogil
    cdef void add_gain(self, int64_t p, int64_t g) noexcept nogil
    cdef bint can_end_inside(self, int64_t p) noexcept nogil
    cdef bint can_end_cheaply(self, int64_t p, int64_t allowance) noexcept nogil
    cdef bint enter(self, int64_t price, double resolution) noexcept nogil
    cdef void search(
        self, double limit, int64_t budget, double resolution, int64_t max_nodes, bint tabled
    ) noexcept nogil
