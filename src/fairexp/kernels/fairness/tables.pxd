from libc.stdint cimport int64_t
from fairexp.kernels.fairness.lattice cimport Lattice
from fairexp.kernels.fairness.rounds cimport Corridors, Round
from fairexp.kernels.fairness.multipliers cimport Multipliers

cdef short DEAREST
cdef double ROUGH
cdef double FINEST
cdef double ACROSS
cdef double MARGIN


cdef class Tables:
    cdef Round round
    cdef Lattice lattice
    cdef Multipliers multipliers
    cdef readonly int64_t count
    cdef readonly int64_t n_cells
    cdef readonly int64_t shift
    cdef int64_t n_tables
    cdef short[::1] cells
    cdef int64_t[:, ::1] pair
    cdef int64_t[:, ::1] start
    cdef int64_t[:, :, ::1] shape
    cdef int64_t[:, :, ::1] first
    cdef double[::1] least
    cdef double[::1] most
    cdef int64_t[::1] left
    cdef double width
    cdef unsigned char[::1] alive
    cdef double[:, ::1] least_before
    cdef double[:, ::1] most_before

    cdef void sum_before(self) noexcept nogil
    cpdef void build(self, int64_t top, int64_t max_cells) noexcept nogil
    cdef double fitting(self, int64_t max_cells) noexcept nogil
    cdef void lay_grid(self, double n_cells) noexcept nogil
    cdef void place_blocks(self, int64_t top) noexcept nogil
    cdef void place_group(self, int64_t g) noexcept nogil
    cdef void fill(self, int64_t top) noexcept nogil
    cdef void clear(self, int64_t begin, int64_t end, short cost) noexcept nogil
    cdef void follow(self, int64_t t, int64_t s, int64_t c, int64_t g, int64_t price) noexcept nogil
    cdef (int64_t, int64_t) third_allows(
        self, int64_t p, int64_t r, Corridors within, int64_t low, int64_t high
    ) noexcept nogil
    cdef (int64_t, int64_t) homeward(self, int64_t p, double low, double high) noexcept nogil
    cpdef int64_t least_ahead(
        self, int64_t t, int64_t s, int64_t p, Corridors within, int64_t enough
    ) noexcept nogil
