# Elements of arrays; a kernel takes read-only arrays where it only reads.
from libc.stdint cimport int64_t, uint8_t

ctypedef uint8_t Bool
ctypedef const double ConstFloat
ctypedef const int64_t ConstInt
ctypedef const uint8_t ConstBool
ctypedef const uint8_t ConstByte
