from libc.stdint cimport int64_t, uint64_t


cdef class Reach:
    cdef readonly uint64_t[:, :, ::1] bits
    cdef readonly double width

    cdef void fill(self, double[::1] P) noexcept nogil
    cdef bint any_sum(self, int64_t p, int64_t j, int64_t first, int64_t last) noexcept nogil
    cpdef bint can_collect(
        self, int64_t p, int64_t fewest, int64_t most, double at_least, double at_most
    ) noexcept nogil
