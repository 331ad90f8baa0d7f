"""The vector and bit instructions that the sentiment kernel needs beside those of the scan kernels.

They read or write 64 bytes at once wherever an array ends, so callers keep spare bytes there; and who changes this
file empties ``__pycache__``, since numba's cache looks only at the file of the kernel itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from cauce.scan.vector import _I8, _I64, _LANES, Bytes, _lanes_at, _pointer, _splat

_intrinsic: Any = intrinsic
_CASE_BIT = 0x20


def _between(builder: Any, lanes: Any, low: Any, high: Any) -> Any:
    shifted = builder.sub(lanes, _splat(builder, low))
    return builder.icmp_unsigned("<=", shifted, _splat(builder, builder.sub(high, low)))


def _range_mask(typing: Any, buffer: Any, at: Any, low: Any, high: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        lanes = _lanes_at(context, builder, signature.args[0], args[0], args[1])
        return builder.bitcast(_between(builder, lanes, args[2], args[3]), _I64)

    return types.uint64(buffer, types.int64, types.uint8, types.uint8), codegen


def _lower_block(typing: Any, target: Any, source: Any, at: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        lanes = _lanes_at(context, builder, signature.args[1], args[1], args[2])
        capital = _between(builder, lanes, ir.Constant(_I8, ord("A")), ir.Constant(_I8, ord("Z")))
        bit = builder.select(capital, _splat(builder, ir.Constant(_I8, _CASE_BIT)), ir.Constant(_LANES, None))
        to = _pointer(context, builder, signature.args[0], args[0], ir.Constant(_I64, 0), _LANES)
        builder.store(builder.or_(lanes, bit), to, align=1)
        return context.get_dummy_value()

    return types.void(target, source, types.int64), codegen


def _word_at(typing: Any, buffer: Any, at: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(_pointer(context, builder, signature.args[0], args[0], args[1], _I64), align=1)

    return types.uint64(buffer, types.int64), codegen


def _below(typing: Any, bit: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        one, every = ir.Constant(_I64, 1), ir.Constant(_I64, -1)
        mask = builder.sub(builder.shl(one, args[0]), one)
        return builder.select(builder.icmp_unsigned("<", args[0], ir.Constant(_I64, 64)), mask, every)

    return types.uint64(types.int64), codegen


def _after_last(typing: Any, mask: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        zeros = builder.ctlz(args[0], ir.Constant(ir.IntType(1), 0))
        return builder.sub(ir.Constant(_I64, 64), zeros)

    return types.int64(types.uint64), codegen


range_mask: Callable[[Bytes, int, int, int], int] = _intrinsic(_range_mask)
"""Bit ``i`` says whether byte ``at + i`` is one of ``low`` to ``high``, both included."""

lower_block: Callable[[Bytes, Bytes, int], None] = _intrinsic(_lower_block)
"""Copies 64 bytes to the front of the target, ASCII capitals as small letters."""

word_at: Callable[[Bytes, int], int] = _intrinsic(_word_at)
"""Eight bytes as one number, the first one lowest."""

below: Callable[[int], int] = _intrinsic(_below)
"""The mask of all bits below the given one (0 to 64)."""

after_last: Callable[[int], int] = _intrinsic(_after_last)
"""One more than the highest bit that is set, or 0."""
