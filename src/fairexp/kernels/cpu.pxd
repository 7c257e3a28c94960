cdef extern from *:
    """
    #if defined(__x86_64__) && defined(__GNUC__)
    #include <cpuid.h>
    /* AVX2, FMA, BMI1, BMI2 and LZCNT, and an operating system that saves the wide registers. */
    static int processor_has_v3(void) {
        unsigned a, b, c, d, saved;
        if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 12 & 1) || !(c >> 27 & 1)) return 0;
        __asm__("xgetbv" : "=a"(saved), "=d"(d) : "c"(0));
        if ((saved & 6) != 6 || !__get_cpuid(0x80000001, &a, &b, &c, &d) || !(c >> 5 & 1)) return 0;
        return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b >> 3 & 1) && (b >> 5 & 1) && (b >> 8 & 1);
    }
    #elif defined(_M_X64)
    #include <windows.h>
    static int processor_has_v3(void) { return IsProcessorFeaturePresent(40); }
    #else
    static int processor_has_v3(void) { return 0; }
    #endif
    """
    bint processor_has_v3()
