from libc.stdint cimport int64_t

from fairexp.kernels.numbers cimport ConstFloat

cdef void score_duel(
    ConstFloat[:, ::1] features, ConstFloat[::1] weights, ConstFloat[::1] direction, double step, double[::1] scores,
    double[::1] rival_scores,
) noexcept nogil
cpdef bint scale_to_unit(double[::1] vector) noexcept
cdef void pick_top(ConstFloat[::1] scores, ConstFloat[::1] keys, int64_t[::1] best) noexcept nogil
