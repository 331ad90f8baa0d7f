"""Kernels: functions on numbers and arrays, written in Python and run as machine code.

numba compiles a kernel once. The object file is cached and later loaded without numba, whose import alone takes
longer than a small job.
"""

from cauce.scan.native.kernel import instruction, kernel, piece
from cauce.scan.native.types import BOOL, F8, I8, U1, VOID, Array, Struct

__all__ = ["BOOL", "F8", "I8", "U1", "VOID", "Array", "Struct", "instruction", "kernel", "piece"]
