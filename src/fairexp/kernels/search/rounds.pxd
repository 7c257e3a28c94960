cdef class Draw:
    cdef const long long[:] order
    cdef const long long[:] groups
    cdef const unsigned char[:, :] certain
    cdef const long long[:] row


cdef class Aim:
    cdef const double[:] spent
    cdef const double[:] shares
    cdef double tolerance
    cdef bint displayed_only
    cdef bint fairest
    cdef const long long[:, :] keys


cdef class Effort:
    cdef readonly long long plain_nodes
    cdef readonly long long max_nodes
    cdef readonly long long max_cells
    cdef readonly double resolution


cdef class Found:
    cdef readonly bint found
    cdef readonly long long cost
    cdef readonly double gap
    cdef readonly long long nodes
    cdef readonly long long[::1] template

    cdef void forget(self) noexcept nogil
    cdef void take(self, Found other) noexcept nogil


cdef class Round:
    cdef readonly long long k
    cdef readonly long long n_groups
    cdef readonly double[::1] P
    cdef readonly double total
    cdef readonly double[::1] spent
    cdef readonly double[::1] w
    cdef readonly long long[::1] size
    cdef readonly long long[:, ::1] queue
    cdef readonly long long[:, ::1] place
    cdef readonly long long[:, :, :, ::1] cost
    cdef long long[::1] in_queue
    cdef long long[::1] gone

    cpdef void begin(self, Draw draw, Aim aim)
    cdef void fill_queues(self, Draw draw) noexcept nogil
    cdef void count_reversals(self, Draw draw, bint displayed_only) noexcept nogil
    cdef void add_up(self, bint displayed_only) noexcept nogil
    cpdef long long price(self, const long long[:] template) noexcept nogil


cdef class Corridors:
    cdef Round round
    cdef readonly double limit
    cdef readonly double[::1] lower
    cdef readonly double[::1] upper
    cdef readonly double[::1] E

    cpdef void narrow(self, double limit) noexcept nogil


cpdef bint is_permutation(const long long[:] order)
