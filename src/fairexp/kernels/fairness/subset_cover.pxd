from libc.stdint cimport int64_t
from fairexp.kernels.fairness.rounds cimport Corridors, Found, Round
from fairexp.kernels.fairness.subsets cimport Subsets

cdef int64_t CHEAPEST
cdef int64_t FAIREST_OF_THOSE
cdef int64_t BRANCH
cdef double LOOKS


cdef class Cover:
    cdef Round round
    cdef Subsets subsets
    cdef Corridors goal
    cdef readonly Found found
    cdef int64_t rule
    cdef int64_t least
    cdef int64_t looks
    cdef int64_t[::1] owner
    cdef int64_t[::1] at
    cdef int64_t[::1] end
    cdef int64_t[::1] besides
    cdef int64_t[::1] free
    cdef int64_t[::1] total
    cdef double[:, ::1] low
    cdef double[:, ::1] high
    cdef int64_t[::1] mask
    cdef unsigned char[::1] used
    cdef int64_t[::1] template
    cdef int64_t[::1] gone

    cdef void clear(self) noexcept nogil
    cdef (int64_t, int64_t) that_fit(self, int64_t level, int64_t g, int64_t besides) noexcept nogil
    cdef void begin_level(self, int64_t level) noexcept nogil
    cdef bint next_owner(self, int64_t level) noexcept nogil
    cdef bint narrow(self, int64_t level, int64_t g, double gained, double worth) noexcept nogil
    cpdef int64_t pair_cost(self, int64_t g, int64_t mask, int64_t h, int64_t other) noexcept nogil
    cdef int64_t price_among(self, int64_t g) noexcept nogil
    cdef (int64_t, int64_t) shares_of_two(self, int64_t level, int64_t a, int64_t b, int64_t left) noexcept nogil
    cdef void share_rest(self, int64_t level, int64_t left, int64_t price) noexcept nogil
    cdef int64_t price_of_two(self, int64_t a, int64_t b) noexcept nogil
    cdef bint comes_before(self) noexcept nogil
    cdef bint is_better(self, int64_t price, double gap) noexcept nogil
    cdef void write_template(self) noexcept nogil
    cdef bint step(self, int64_t level) noexcept nogil
    cdef void search(self, double limit, int64_t budget, int64_t rule, int64_t max_looks) noexcept nogil
