cdef double slack

cpdef double largest_gap(const double[:] E, const double[:] w) noexcept nogil
