from libc.stdint cimport int64_t
from fairexp.kernels.fairness.owed cimport Owed
from fairexp.kernels.fairness.lattice cimport Lattice
from fairexp.kernels.fairness.rounds cimport Found, Round

cdef int64_t IMPOSSIBLE
cdef int64_t INDEX_BITS


cdef class MeetInTheMiddle:
    cdef Round round
    cdef Owed owed
    cdef Lattice lattice
    cdef readonly int64_t first
    cdef int64_t n_upper
    cdef int64_t n_lower
    cdef readonly Found best
    cdef readonly int64_t looks
    cdef int64_t best_upper
    cdef bint fairest
    cdef int64_t[::1] top
    cdef int64_t[::1] base
    cdef int64_t[::1] gone
    cdef int64_t[::1] other
    cdef int64_t[::1] template
    cdef double[::1] charged
    # By upper word.
    cdef int64_t count
    cdef int64_t[:, ::1] words
    cdef int64_t[::1] price
    cdef int64_t[::1] state
    cdef int64_t[::1] by_price
    cdef double[:, ::1] upper_gain
    # By lower word.
    cdef double[:, ::1] gain
    cdef int64_t[:, ::1] by_sum
    cdef double[:, ::1] sums
    cdef int64_t[:, ::1] cost
    cdef unsigned char[::1] priced

    cdef void begin(self, const int64_t[:] top, int64_t least, bint fairest) noexcept nogil
    cdef void list_uppers(self, int64_t depth, int64_t state, int64_t price, int64_t least) noexcept nogil
    cdef void price_state(self, int64_t state) noexcept nogil
    cdef void price_lowers(self, int64_t state, int64_t depth, int64_t code, int64_t price) noexcept nogil
    cdef int64_t first_at_least(self, int64_t column, double value) noexcept nogil
    cdef (int64_t, int64_t, int64_t) fewest(self) noexcept nogil
    cdef void seek(self, int64_t max_looks) noexcept nogil
    cdef void stand_after(self, int64_t u) noexcept nogil
    cdef void pair_up(self, int64_t u) noexcept nogil
    cdef void enter(self, int64_t u, int64_t code, int64_t price) noexcept nogil
    cdef void write_template(self, int64_t u, int64_t code) noexcept nogil
    cdef bint comes_before(self) noexcept nogil


cdef int compare(const void *one, const void *other) noexcept nogil
