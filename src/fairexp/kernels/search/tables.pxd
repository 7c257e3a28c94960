from fairexp.kernels.search.lattice cimport Lattice
from fairexp.kernels.search.rounds cimport Corridors, Round
from fairexp.kernels.search.tolls cimport Tolls

cdef short DEAREST
cdef double ROUGH
cdef double FINEST
cdef double ACROSS
cdef double MARGIN


cdef class Tables:
    cdef Round round
    cdef Lattice lattice
    cdef Tolls tolls
    cdef readonly long long count
    cdef readonly long long n_cells
    cdef readonly long long shift
    cdef long long n_tables
    cdef short[::1] cells
    cdef long long[:, ::1] pair
    cdef long long[:, ::1] start
    cdef long long[:, :, ::1] shape
    cdef long long[:, :, ::1] first
    cdef double[::1] least
    cdef double[::1] most
    cdef long long[::1] left
    cdef double width
    cdef unsigned char[::1] alive
    cdef double[:, ::1] least_before
    cdef double[:, ::1] most_before

    cdef void sum_before(self) noexcept nogil
    cpdef void build(self, long long top, long long max_cells) noexcept nogil
    cdef double fitting(self, long long max_cells) noexcept nogil
    cdef void lay_grid(self, double n_cells) noexcept nogil
    cdef void place_blocks(self, long long top) noexcept nogil
    cdef void place_group(self, long long g) noexcept nogil
    cdef void fill(self, long long top) noexcept nogil
    cdef void follow(self, long long t, long long s, long long c, long long g, long long price) noexcept nogil
    cdef (long long, long long) third_allows(
        self, long long p, long long r, Corridors within, long long low, long long high
    ) noexcept nogil
    cdef (long long, long long) homeward(self, long long p, double low, double high) noexcept nogil
    cpdef long long least_ahead(
        self, long long t, long long s, long long p, Corridors within, long long enough
    ) noexcept nogil
