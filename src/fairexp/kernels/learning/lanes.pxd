# Two sums of products in one pass, each in eight lanes as in `linear`. Vectors are written out, in the width that the
# level has: left to itself, the compiler makes shuffles of two sums at once.
cdef extern from *:
    """
    #if defined(__GNUC__) && defined(__AVX__)
    typedef double lanes_t __attribute__((vector_size(32), aligned(8), may_alias));
    #define EACH(DO) DO(0) DO(1)
    #elif defined(__GNUC__)
    typedef double lanes_t __attribute__((vector_size(16), aligned(8), may_alias));
    #define EACH(DO) DO(0) DO(1) DO(2) DO(3)
    #else
    typedef double lanes_t;
    #define EACH(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)
    #endif
    static inline void add_products(
        const double *a, const double *b, const double *c, Py_ssize_t whole, double *with_b, double *with_c
    ) {
    #define START(part) lanes_t sum##part = {0}, other##part = {0};
    #define ADD(part) own = ((const lanes_t *)(a + j))[part]; \\
            sum##part += own * ((const lanes_t *)(b + j))[part]; \\
            other##part += own * ((const lanes_t *)(c + j))[part];
    #define STORE(part) ((lanes_t *)with_b)[part] = sum##part; ((lanes_t *)with_c)[part] = other##part;
        lanes_t own;
        EACH(START)
        for (Py_ssize_t j = 0; j < whole; j += 8) {
            EACH(ADD)
        }
        EACH(STORE)
    }
    """
    # Sets the lanes `with_b` and `with_c` (8,) to sums of products of `a` with `b` and with `c`, over the first `whole`.
    void add_products(
        const double* a, const double* b, const double* c, Py_ssize_t whole, double* with_b, double* with_c
    ) noexcept nogil
