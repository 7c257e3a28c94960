from fairexp.kernels.search.rounds cimport Aim, Effort, Found, Round
from fairexp.kernels.search.tables cimport Tables
from fairexp.kernels.search.tolls cimport Tolls
from fairexp.kernels.search.walk cimport Walk

cdef long long MARGIN
cdef long long PART
cdef long long GUIDED
cdef long long CELLS


cdef class LongLists:
    cdef Round round
    cdef Walk walk
    cdef Tolls tolls
    cdef Tables tables
    cdef bint has_tables
    cdef readonly Found best
    cdef readonly Found fair
    cdef readonly long long bound
    cdef readonly double gap_bound
    cdef long long used

    cdef void take_cheaper(self, Found other) noexcept nogil
    cdef void table(self, long long top, long long max_cells) noexcept nogil
    cdef bint rise(self, double limit, long long top, long long max_nodes) noexcept nogil
    cdef void least_cost(self, double limit, long long max_nodes, long long max_cells) noexcept nogil
    cdef void go_on(self, double limit, long long walked, long long max_nodes, long long max_cells) noexcept nogil
    cdef void fairest_of_cheapest(self, double tolerance, long long left, Effort effort) noexcept nogil
    cdef void choose(self, Aim aim, Effort effort) noexcept nogil
