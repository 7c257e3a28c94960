from fairexp.kernels.numbers cimport ConstFloat

cdef Py_ssize_t rank_of(
    const double* scores, ConstFloat[::1] keys, Py_ssize_t n, Py_ssize_t document
) noexcept nogil
cdef double sign_of_sum(double[:, ::1] steps, Py_ssize_t c, double[:, ::1] odds) noexcept nogil
