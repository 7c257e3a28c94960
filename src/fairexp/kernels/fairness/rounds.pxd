from libc.stdint cimport int64_t


cdef class Draw:
    cdef const int64_t[:] order
    cdef const int64_t[:] groups
    cdef const unsigned char[:, :] regret
    cdef const int64_t[:] row


cdef class Aim:
    cdef const double[:] spent
    cdef const double[:] shares
    cdef double tolerance
    cdef bint displayed_only
    cdef bint fairest
    cdef const int64_t[:, :] keys


cdef class Effort:
    cdef readonly int64_t plain_nodes
    cdef readonly int64_t max_nodes
    cdef readonly int64_t max_cells
    cdef readonly double resolution


cdef class Found:
    cdef readonly bint found
    cdef readonly int64_t cost
    cdef readonly double gap
    cdef readonly int64_t nodes
    cdef readonly int64_t[::1] template

    cdef void forget(self) noexcept nogil
    cdef void take(self, Found other) noexcept nogil


cdef class Round:
    cdef readonly int64_t k
    cdef readonly int64_t n_groups
    cdef readonly double[::1] P
    cdef readonly double total
    cdef readonly double[::1] spent
    cdef readonly double[::1] w
    cdef readonly int64_t[::1] size
    cdef readonly int64_t[:, ::1] queue
    cdef readonly int64_t[:, ::1] place
    cdef readonly int64_t[:, :, :, ::1] cost
    cdef int64_t[::1] in_queue
    cdef int64_t[::1] gone

    cpdef void begin(self, Draw draw, Aim aim)
    cdef void fill_queues(self, Draw draw) noexcept nogil
    cdef void count_reversals(self, Draw draw, bint displayed_only) noexcept nogil
    cdef void add_up(self, bint displayed_only) noexcept nogil
    cpdef int64_t price(self, const int64_t[:] template) noexcept nogil


cdef class Corridors:
    cdef Round round
    cdef readonly double limit
    cdef readonly double[::1] lower
    cdef readonly double[::1] upper
    cdef readonly double[::1] E

    cpdef void narrow(self, double limit) noexcept nogil


cdef void lay_corridors(
    double total, const double[:] spent, const double[:] w, double limit, double[:] lower, double[:] upper
) noexcept nogil
cpdef bint is_permutation(const int64_t[:] order)
