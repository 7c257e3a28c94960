from fairexp.kernels.search.lattice cimport Lattice
from fairexp.kernels.search.reach cimport Reach
from fairexp.kernels.search.rounds cimport Corridors, Found, Round
from fairexp.kernels.search.tables cimport Tables
from fairexp.kernels.search.tolls cimport Tolls

cdef long long NO_LIMIT
cdef long long ALONE
cdef long long BY_GUIDE
cdef long long BY_TABLES


cdef class Walk:
    cdef Round round
    cdef Reach reach
    cdef Lattice lattice
    cdef Tolls tolls
    cdef Tables tables
    cdef readonly Found found
    cdef bint guided
    cdef bint for_gap
    cdef Corridors goal
    cdef double[:, ::1] gain
    cdef long long[::1] gone
    cdef long long[:, ::1] choices
    cdef long long[::1] total
    cdef long long[::1] state
    cdef long long[::1] n_choices
    cdef long long[::1] tried
    cdef long long[::1] path

    cdef double key(self, long long p, long long g) noexcept nogil
    cdef void stop_at(self, long long p, long long price) noexcept nogil
    cdef long long price(self, long long p, long long g) noexcept nogil
    cdef void add_gain(self, long long p, long long g) noexcept nogil
    cdef bint can_end_inside(self, long long p) noexcept nogil
    cdef bint can_end_cheaply(self, long long p, long long allowance) noexcept nogil
    cdef bint enter(self, long long price, double resolution) noexcept nogil
    cdef void search(
        self, double limit, long long budget, double resolution, long long max_nodes, long long help
    ) noexcept nogil
