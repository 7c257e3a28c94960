# Sums of products of several rows in one pass, each in eight lanes as in `linear`. Vectors are written out, in the width
# that the level has: left to itself, the compiler makes shuffles of two sums at once. No sum waits for another, so several
# rows take hardly longer than one.
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
    #define AT(row, part) ((const lanes_t *)((row) + j))[part]
    static inline void add_two_rows(
        const double *a0, const double *b0, const double *a1, const double *b1, const double *c, Py_ssize_t whole,
        double *sums
    ) {
    #define START(part) lanes_t p##part = {0}, q##part = {0}, r##part = {0}, s##part = {0};
    #define ADD_TWO(part) own = AT(a0, part); p##part += own * AT(c, part); q##part += own * AT(b0, part); \\
            own = AT(a1, part); r##part += own * AT(c, part); s##part += own * AT(b1, part);
    #define STORE(part) ((lanes_t *)sums)[part] = p##part; ((lanes_t *)(sums + 8))[part] = q##part; \\
            ((lanes_t *)(sums + 16))[part] = r##part; ((lanes_t *)(sums + 24))[part] = s##part;
        lanes_t own;
        EACH(START)
        for (Py_ssize_t j = 0; j < whole; j += 8) {
            EACH(ADD_TWO)
        }
        EACH(STORE)
    }
    static inline void add_four_rows(
        const double *a0, const double *a1, const double *a2, const double *a3, const double *b, Py_ssize_t whole,
        double *sums
    ) {
    #define ADD_FOUR(part) own = AT(b, part); \\
            p##part += AT(a0, part) * own; q##part += AT(a1, part) * own; \\
            r##part += AT(a2, part) * own; s##part += AT(a3, part) * own;
        lanes_t own;
        EACH(START)
        for (Py_ssize_t j = 0; j < whole; j += 8) {
            EACH(ADD_FOUR)
        }
        EACH(STORE)
    }
    """
    # Sets the lanes `sums` (4, 8) to sums of products of `a0` with `c` and with `b0`, and of `a1` with `c` and with `b1`,
    # over the first `whole`.
    void add_two_rows(
        const double* a0, const double* b0, const double* a1, const double* b1, const double* c, Py_ssize_t whole,
        double* sums
    ) noexcept nogil
    # Sets the lanes `sums` (4, 8) to sums of products of `b` with each of four rows, over the first `whole`.
    void add_four_rows(
        const double* a0, const double* a1, const double* a2, const double* a3, const double* b, Py_ssize_t whole,
        double* sums
    ) noexcept nogil
