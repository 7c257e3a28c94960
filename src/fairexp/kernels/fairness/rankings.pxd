from libc.stdint cimport int64_t
from fairexp.kernels.fairness.local_search cimport LocalSearch
from fairexp.kernels.fairness.meet_in_the_middle cimport MeetInTheMiddle
from fairexp.kernels.fairness.owed cimport Owed
from fairexp.kernels.fairness.dual_prices cimport DualPrices
from fairexp.kernels.fairness.walk cimport Walk
from fairexp.kernels.fairness.rounds cimport Effort, Found, Round

cdef int64_t LOOKS
cdef int64_t SURVEYS


cdef class RankingSearch:
    cdef readonly Round round
    cdef readonly Owed owed
    cdef Walk walk
    cdef DualPrices tolls
    cdef MeetInTheMiddle halves
    cdef readonly LocalSearch exchanges
    cdef bint fairest
    cdef bint by_chance
    cdef readonly Found best
    cdef readonly int64_t bound
    cdef readonly bint exact
    cdef readonly bint impossible
    cdef int64_t[::1] gone

    cpdef void around(self, const double[:] limits, const int64_t[:] known, Effort effort)
    cdef void find(self, Effort effort) noexcept nogil
    cdef void find_around(self, const int64_t[:] known, Effort effort) noexcept nogil
    cdef void go_on(self, Effort effort) noexcept nogil
    cdef void improve(self, int64_t max_looks) noexcept nogil
    cdef void complete(self, int64_t max_looks) noexcept nogil
    cdef void approach(self, Effort effort) noexcept nogil
    cdef void pay_tolls(self, Effort effort) noexcept nogil
    cdef void show(self, int64_t[::1] shown) noexcept nogil
