from libc.stdint cimport int64_t


cdef class Subsets:
    cdef readonly unsigned short[::1] masks
    cdef readonly double[::1] sums
    cdef readonly int64_t[::1] start
    cdef readonly double[::1] worth
    cdef readonly int64_t[::1] n_positions

    cdef void add_up(self, double[::1] P) noexcept nogil
    cdef void merge(self, int64_t mask) noexcept nogil
    cdef int64_t first_at_least(self, int64_t begin, int64_t end, double value) noexcept nogil
    cdef (int64_t, int64_t) between(self, int64_t mask, double low, double high) noexcept nogil
