# Elements of arrays that a kernel only reads, so that read-only arrays may be given.
from libc.stdint cimport int64_t, uint8_t

ctypedef const double ConstFloat
ctypedef const int64_t ConstInt
ctypedef const uint8_t ConstBool
ctypedef uint8_t Bool
