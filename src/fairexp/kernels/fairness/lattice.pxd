from libc.stdint cimport int64_t


cdef class Lattice:
    cdef readonly int64_t n_states
    cdef readonly int64_t[:, ::1] states
    cdef readonly int64_t[::1] depth
    cdef readonly int64_t[:, ::1] child

    cdef void number(self, int64_t k, int64_t[:, ::1] binomial, int64_t[::1] a) noexcept nogil
