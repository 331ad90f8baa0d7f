"""Vector instructions that NumPy and numba have no name for, as functions that compiled kernels can call.

They read or write 64 bytes at once, wherever an array ends: callers keep ``SPARE_BYTES`` free there.
Who changes this file empties ``__pycache__``: numba's cache looks only at the file of the kernel itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array
from numpy.typing import NDArray

SPARE_BYTES = 64
"""What a buffer must hold after its last byte of data."""

BYTES = types.Array(types.uint8, 1, "C", readonly=True)
"""Read-only in a signature takes writable arrays too, so that one compilation serves both."""

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]
F = TypeVar("F", bound=Callable[..., Any])

_make_array: Any = make_array
_intrinsic: Any = intrinsic
_I8, _I64 = ir.IntType(8), ir.IntType(64)
_LANES = ir.VectorType(_I8, 64)


def compiled(signature: Any) -> Callable[[F], F]:
    """``njit`` for one signature: no other layout of arrays can make a worker compile in mid-job."""
    decorate: Callable[[F], F] = njit(signature, nogil=True, cache=True)
    return decorate


def _pointer(context: Any, builder: Any, array_type: Any, array: Any, at: Any, pointee: Any) -> Any:
    data = _make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [at]), pointee.as_pointer())


def _splat(builder: Any, byte: Any) -> Any:
    one = builder.insert_element(ir.Constant(_LANES, ir.Undefined), byte, ir.Constant(ir.IntType(32), 0))
    everywhere = ir.Constant(ir.VectorType(ir.IntType(32), 64), None)
    return builder.shuffle_vector(one, ir.Constant(_LANES, ir.Undefined), everywhere)


def _byte_at(typing: Any, buffer: Any, at: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(_pointer(context, builder, signature.args[0], args[0], args[1], _I8))

    return types.uint8(buffer, types.int64), codegen


def _lanes_at(context: Any, builder: Any, array_type: Any, array: Any, at: Any) -> Any:
    return builder.load(_pointer(context, builder, array_type, array, at, _LANES), align=1)


def _equal_mask(typing: Any, buffer: Any, at: Any, byte: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        lanes = _lanes_at(context, builder, signature.args[0], args[0], args[1])
        return builder.bitcast(builder.icmp_unsigned("==", lanes, _splat(builder, args[2])), _I64)

    return types.uint64(buffer, types.int64, types.uint8), codegen


def _either_mask(typing: Any, buffer: Any, at: Any, one: Any, other: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        lanes = _lanes_at(context, builder, signature.args[0], args[0], args[1])
        equal = [builder.icmp_unsigned("==", lanes, _splat(builder, byte)) for byte in args[2:]]
        return builder.bitcast(builder.or_(*equal), _I64)

    return types.uint64(buffer, types.int64, types.uint8, types.uint8), codegen


def _high_mask(typing: Any, buffer: Any, at: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        lanes = _lanes_at(context, builder, signature.args[0], args[0], args[1])
        return builder.bitcast(builder.icmp_signed("<", lanes, ir.Constant(_LANES, None)), _I64)

    return types.uint64(buffer, types.int64), codegen


def _copy_block(typing: Any, target: Any, to: Any, source: Any, at: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        lanes = _lanes_at(context, builder, signature.args[2], args[2], args[3])
        builder.store(lanes, _pointer(context, builder, signature.args[0], args[0], args[1], _LANES), align=1)
        return context.get_dummy_value()

    return types.void(target, types.int64, source, types.int64), codegen


def _next_bit(typing: Any, mask: Any, bit: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        shifted = builder.lshr(args[0], args[1])
        zeros = builder.cttz(shifted, ir.Constant(ir.IntType(1), 0))
        found = builder.icmp_unsigned("!=", shifted, ir.Constant(_I64, 0))
        return builder.select(found, builder.add(zeros, args[1]), ir.Constant(_I64, 64))

    return types.int64(types.uint64, types.int64), codegen


def _population(typing: Any, mask: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.int64(types.uint64), codegen


byte_at: Callable[[Bytes, int], int] = _intrinsic(_byte_at)
"""A byte without the test for negative indices."""

equal_mask: Callable[[Bytes, int, int], int] = _intrinsic(_equal_mask)
"""Bit ``i`` says whether byte ``at + i`` equals the given one."""

either_mask: Callable[[Bytes, int, int, int], int] = _intrinsic(_either_mask)
"""Bit ``i`` says whether byte ``at + i`` equals one of the two given ones."""

high_mask: Callable[[Bytes, int], int] = _intrinsic(_high_mask)
"""Bit ``i`` says whether byte ``at + i`` is outside ASCII."""

copy_block: Callable[[Bytes, int, Bytes, int], None] = _intrinsic(_copy_block)
"""Copies 64 bytes."""

next_bit: Callable[[int, int], int] = _intrinsic(_next_bit)
"""The lowest bit of the mask at or above ``bit`` (0 to 63), or 64."""

population: Callable[[int], int] = _intrinsic(_population)
"""How many bits of the mask are set."""
