"""Documents known again by a number of theirs: a table of tags, some for each slot, the latest met in front.

The bits of the number are scrambled; some of them say in which slot of the table (2^13, 4) the document belongs, others
are its tag there. 0 stands for nobody, and `ANYTHING` for nobody knows whom.
"""

import cython
import numpy as np
from cython.cimports.fairexp.kernels.numbers import Bool, ConstFloat
from cython.cimports.libc.stdint import uint16_t, uint64_t
from cython.cimports.libc.string import memcpy

SHAPE = (1 << 13, 4)
ANYTHING = 0xFFFF
_ANYTHING = cython.declare(cython.int, 0xFFFF)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _place(number: cython.double, tag: cython.pointer[uint16_t]) -> cython.Py_ssize_t:
    """The slot of a document, and its `tag` there."""
    bits: uint64_t = 0
    number += 0.0  # -0 is 0
    memcpy(cython.address(bits), cython.address(number), cython.sizeof(uint64_t))
    bits = (bits ^ (bits >> 32)) * cython.cast(uint64_t, 0x9E3779B97F4A7C15)
    tag[0] = cython.cast(uint16_t, 1 + ((bits >> 33) & 0xFFFF) % 0xFFFE)
    return cython.cast(cython.Py_ssize_t, bits >> 51)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _may_hold(slot: cython.Py_ssize_t, tag: uint16_t, tags: uint16_t[:, ::1]) -> cython.bint:
    """Whether the tag is in the slot, or may be."""
    for place in range(tags.shape[1]):
        if tags[slot, place] == tag or tags[slot, place] == _ANYTHING:
            return True
    return False


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _enter(slot: cython.Py_ssize_t, tag: uint16_t, tags: uint16_t[:, ::1]) -> cython.void:
    """Put the tag in front; those before it move back a place, and without it the last one leaves."""
    moving: uint16_t = tag
    for place in range(tags.shape[1]):
        before = tags[slot, place]
        tags[slot, place] = moving
        moving = before
        if before == tag:
            break


def any_met(numbers: ConstFloat[::1], tags: uint16_t[:, ::1]) -> bool:
    """Whether any document of these `numbers` (m,) is in the table, or may be."""
    tag: uint16_t = 0
    found: cython.bint = False
    with cython.nogil:
        for i in range(numbers.shape[0]):
            slot = _place(numbers[i], cython.address(tag))
            if _may_hold(slot, tag, tags):
                found = True
                break
    return found


def note(numbers: ConstFloat[::1], tags: uint16_t[:, ::1]):
    """Enter the documents of these `numbers` (m,) into the table; returns which of them (m,) surely were not in it."""
    result = np.zeros(numbers.shape[0], dtype=np.bool_)
    new: Bool[::1] = result
    tag: uint16_t = 0
    with cython.nogil:
        for i in range(numbers.shape[0]):
            slot = _place(numbers[i], cython.address(tag))
            new[i] = not _may_hold(slot, tag, tags)
        for i in range(numbers.shape[0]):
            slot = _place(numbers[i], cython.address(tag))
            _enter(slot, tag, tags)
    return result
