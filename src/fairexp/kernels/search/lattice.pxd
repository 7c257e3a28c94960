cdef class Lattice:
    cdef readonly long long n_states
    cdef readonly long long[:, ::1] states
    cdef readonly long long[::1] depth
    cdef readonly long long[:, ::1] child

    cdef void number(self, long long k, long long[:, ::1] binomial, long long[::1] a) noexcept nogil
