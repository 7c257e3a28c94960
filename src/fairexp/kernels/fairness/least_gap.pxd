from libc.stdint cimport int64_t, uint64_t
from fairexp.kernels.fairness.local_search cimport LocalSearch
from fairexp.kernels.fairness.owed cimport Owed
from fairexp.kernels.fairness.rounds cimport Round

cdef int64_t MOST_GROUPS
cdef int64_t LOOKS
cdef int64_t SWEEPS
cdef double NOISE
cdef double FIRST
cdef double GROWTH
cdef double LITTLE
cdef uint64_t SEED


cdef class Words:
    cdef readonly int64_t[:, ::1] classes
    cdef readonly int64_t[:, ::1] count
    cdef readonly double[:, ::1] gain
    cdef readonly int64_t[::1] start
    cdef readonly double[::1] low
    cdef readonly double[::1] high
    cdef readonly double[::1] least
    cdef readonly double[::1] most
    cdef readonly int64_t first
    cdef readonly int64_t second

    cdef int64_t first_at_least(self, int64_t begin, int64_t end, double value) noexcept nogil


cdef class LeastGap:
    cdef Round round
    cdef Owed owed
    cdef LocalSearch exchanges
    cdef Words upper
    cdef Words lower
    cdef readonly int64_t n_top
    cdef readonly int64_t[::1] template
    cdef readonly double[::1] gap
    cdef readonly double[::1] bound
    cdef int64_t looks
    cdef int64_t max_looks
    cdef uint64_t chance
    cdef double noise
    cdef bint by_size
    cdef int64_t[::1] gone
    cdef int64_t[::1] list
    cdef double[::1] weight
    cdef double[::1] charged
    cdef double[::1] low
    cdef double[::1] high
    cdef double below
    cdef double[::1] top_sums
    cdef unsigned char[::1] inside

    cpdef void search(self, const int64_t[:] known, int64_t max_nodes) noexcept nogil
    cdef void enter_gaps(self) noexcept nogil
    cdef bint is_met(self, int64_t c) noexcept nogil
    cdef void lower_gap(self, int64_t c) noexcept nogil
    cdef void seek_least(self, int64_t c) noexcept nogil
    cdef void fill_top(self, int64_t c, int64_t number) noexcept nogil
    cdef void even_out(self) noexcept nogil
    cdef bint would_even_out(self, int64_t one, int64_t other, double amount) noexcept nogil
    cdef void give(self, int64_t one, int64_t other, double amount) noexcept nogil
    cdef int64_t choose(self, int64_t p) noexcept nogil
    cdef double need(self, int64_t a) noexcept nogil
    cdef double draw(self) noexcept nogil
    cdef void seek(self, int64_t c, double limit) noexcept nogil
    cdef bint stand_after(self, int64_t u) noexcept nogil
    cdef bint narrow_ends(self, int64_t c) noexcept nogil
    cdef bint pair_up(self, int64_t u, int64_t c) noexcept nogil
    cdef bint fits(self, int64_t u, int64_t v) noexcept nogil
    cdef void enter(self, int64_t u, int64_t v) noexcept nogil
    cdef double least_possible(self, int64_t c) noexcept nogil
    cdef double bound_by_top(self, int64_t c) noexcept nogil
    cdef double bound_by_set(self, int64_t c) noexcept nogil
