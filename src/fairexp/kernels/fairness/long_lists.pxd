from libc.stdint cimport int64_t
from fairexp.kernels.fairness.rounds cimport Aim, Effort, Found, Round
from fairexp.kernels.fairness.tables cimport Tables
from fairexp.kernels.fairness.first_guess cimport FirstGuess
from fairexp.kernels.fairness.multipliers cimport Multipliers
from fairexp.kernels.fairness.depth_first cimport DepthFirst

cdef int64_t MARGIN
cdef int64_t PART
cdef int64_t GUESS
cdef int64_t CELLS


cdef class LongLists:
    cdef Round round
    cdef DepthFirst walk
    cdef Multipliers multipliers
    cdef Tables tables
    cdef FirstGuess first_guess
    cdef bint has_tables
    cdef readonly Found best
    cdef readonly int64_t bound
    cdef readonly double gap_bound
    cdef int64_t used

    cdef void take_cheaper(self, Found other) noexcept nogil
    cdef void table(self, int64_t top, int64_t max_cells) noexcept nogil
    cdef bint rise(self, double limit, int64_t top, int64_t max_nodes) noexcept nogil
    cdef void guess(self, double limit, int64_t max_nodes) noexcept nogil
    cdef void least_cost(self, double limit, int64_t max_nodes, int64_t max_cells) noexcept nogil
    cdef void go_on(self, double limit, int64_t walked, int64_t max_nodes, int64_t max_cells) noexcept nogil
    cdef void fairest_of_cheapest(self, double tolerance, int64_t left, Effort effort) noexcept nogil
    cdef void within(self, Aim aim, Effort effort) noexcept nogil
    cdef void around(self, double limit, Found known, Effort effort) noexcept nogil
