from libc.stdint cimport int64_t
from fairexp.kernels.fairness.rounds cimport Round


cdef class Owed:
    cdef readonly int64_t n_demands
    cdef readonly int64_t n_columns
    cdef readonly double total
    cdef readonly int64_t[::1] start
    cdef readonly int64_t[:, ::1] column
    cdef readonly int64_t[::1] watched
    cdef readonly double[::1] spent
    cdef readonly double[::1] w
    cdef readonly double[::1] tolerance
    cdef readonly double[::1] limit
    cdef readonly double[::1] lower
    cdef readonly double[::1] upper
    cdef readonly double[::1] middle
    cdef readonly double[::1] E
    cdef readonly double[:, ::1] ratio

    cpdef void begin(self, const double[:] spent, const double[:] shares, const double[:] tolerance) noexcept nogil
    cpdef void narrow(self, int64_t c, double limit) noexcept nogil
    cdef void narrow_to_tolerances(self) noexcept nogil
    cdef void book(self, const int64_t[:] template, const double[:] P) noexcept nogil
    cdef void add(self, int64_t a, double amount) noexcept nogil
    cpdef double gap(self, int64_t c) noexcept nogil
    cdef bint keeps_limits(self) noexcept nogil
    cdef bint meets_tolerances(self) noexcept nogil
    cdef bint would_keep_limits(self, const double[:] gain) noexcept nogil


cdef int64_t pop_price(Round round, const int64_t[:] gone, int64_t a) noexcept nogil
cdef int64_t next_class(Round round, const int64_t[:] gone, int64_t after) noexcept nogil
