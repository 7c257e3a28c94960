from libc.stdint cimport int64_t

from fairexp.kernels.numbers cimport ConstFloat

cdef void score_duel(
    ConstFloat[:, ::1] features, ConstFloat[::1] weights, ConstFloat[::1] direction, double step, double* scores,
    double* rival_scores,
) noexcept nogil
cpdef bint scale_to_unit(double[::1] vector) noexcept
cdef void pick_top(
    const double* scores, ConstFloat[::1] keys, Py_ssize_t n, int64_t* best, Py_ssize_t k
) noexcept nogil
