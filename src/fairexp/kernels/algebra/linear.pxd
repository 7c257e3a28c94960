from libc.stdint cimport int64_t

from fairexp.kernels.numbers cimport ConstFloat

cdef void pick_top(
    const double* scores, ConstFloat[::1] keys, Py_ssize_t n, int64_t* best, Py_ssize_t k
) noexcept nogil
cdef void score_rows(
    ConstFloat[:, ::1] features, Py_ssize_t first, Py_ssize_t end, const double* weights, Py_ssize_t d, double* scores
) noexcept nogil
