from libc.stdint cimport int64_t

from fairexp.kernels.numbers cimport ConstFloat

cdef void pick_top(
    const double* scores, ConstFloat[::1] keys, Py_ssize_t n, int64_t* best, Py_ssize_t k
) noexcept nogil
