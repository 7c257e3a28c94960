from fairexp.kernels.search.rounds cimport Corridors, Found, Round
from fairexp.kernels.search.subsets cimport Subsets

cdef long long CHEAPEST
cdef long long FAIREST_OF_THOSE
cdef long long LEAST_GAP
cdef long long BRANCH


cdef class Cover:
    cdef Round round
    cdef Subsets subsets
    cdef Corridors goal
    cdef readonly Found found
    cdef long long rule
    cdef long long least
    cdef long long looks
    cdef long long[::1] owner
    cdef long long[::1] at
    cdef long long[::1] end
    cdef long long[::1] besides
    cdef long long[::1] free
    cdef long long[::1] total
    cdef double[:, ::1] low
    cdef double[:, ::1] high
    cdef long long[::1] mask
    cdef unsigned char[::1] used
    cdef long long[::1] template
    cdef long long[::1] gone

    cdef void clear(self) noexcept nogil
    cdef void restrict(self, long long n_levels) noexcept nogil
    cdef (long long, long long) that_fit(self, long long level, long long g, long long besides) noexcept nogil
    cdef void begin_level(self, long long level) noexcept nogil
    cdef bint next_owner(self, long long level) noexcept nogil
    cdef bint narrow(self, long long level, long long g, double gained, double worth) noexcept nogil
    cpdef long long pair_cost(self, long long g, long long mask, long long h, long long other) noexcept nogil
    cdef long long price_among(self, long long g) noexcept nogil
    cdef (long long, long long) shares_of_two(self, long long level, long long a, long long b, long long left) noexcept nogil
    cdef void share_rest(self, long long level, long long left, long long price) noexcept nogil
    cdef long long price_of_two(self, long long a, long long b) noexcept nogil
    cdef bint comes_before(self) noexcept nogil
    cdef bint is_better(self, long long price, double gap) noexcept nogil
    cdef void write_template(self) noexcept nogil
    cdef bint step(self, long long level, double resolution) noexcept nogil
    cdef void search(
        self, double limit, long long budget, long long rule, double resolution, long long max_looks
    ) noexcept nogil
