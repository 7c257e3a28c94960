cdef class Reach:
    cdef readonly unsigned long long[:, :, ::1] bits
    cdef readonly double width

    cdef void fill(self, double[::1] P) noexcept nogil
    cdef bint any_sum(self, long long p, long long j, long long first, long long last) noexcept nogil
    cpdef bint can_collect(
        self, long long p, long long fewest, long long most, double at_least, double at_most
    ) noexcept nogil
