from libc.stdint cimport int64_t

cdef double slack

cpdef double largest_gap(const double[:] E, const double[:] w) noexcept nogil
cpdef int64_t largest(const int64_t[:] groups) noexcept nogil
