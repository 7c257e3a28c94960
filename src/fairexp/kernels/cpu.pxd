cdef extern from *:
    """
    #if defined(__x86_64__) && defined(__GNUC__)
    static int processor_has_v3(void) {
        __builtin_cpu_init();
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi")
            && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("lzcnt");
    }
    #elif defined(_M_X64)
    #include <windows.h>
    static int processor_has_v3(void) { return IsProcessorFeaturePresent(40); }
    #else
    static int processor_has_v3(void) { return 0; }
    #endif
    """
    bint processor_has_v3()
