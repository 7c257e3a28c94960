cdef class Subsets:
    cdef readonly unsigned short[::1] masks
    cdef readonly double[::1] sums
    cdef readonly long long[::1] start
    cdef readonly double[::1] worth
    cdef readonly long long[::1] n_positions

    cdef void add_up(self, double[::1] P) noexcept nogil
    cdef void merge(self, long long mask) noexcept nogil
    cdef long long first_at_least(self, long long begin, long long end, double value) noexcept nogil
    cdef (long long, long long) between(self, long long mask, double low, double high) noexcept nogil
