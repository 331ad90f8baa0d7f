"""Kernels: functions of numbers and arrays, written in Python and run as machine code.

numba compiles them once; what it made is kept, and loaded from then on without numba, whose import alone takes
longer than a small job.
"""

from cauce.native.kernel import instruction, kernel, piece
from cauce.native.types import BOOL, F8, I8, U1, U8, VOID, Array, Struct

__all__ = ["BOOL", "F8", "I8", "U1", "U8", "VOID", "Array", "Struct", "instruction", "kernel", "piece"]
