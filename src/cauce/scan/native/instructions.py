"""Implements the vector and bit instructions that NumPy and numba lack, as functions for compiled kernels.

They read or write 64 bytes at once, even past the end of an array: callers must keep ``SPARE_BYTES`` free there.
``simd`` declares and documents each one.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

_CASE_BIT = 0x20
_make_array: Any = make_array
_intrinsic: Any = intrinsic
_function: Any = cgutils.get_or_insert_function
_I8, _I64 = ir.IntType(8), ir.IntType(64)
_LANES = ir.VectorType(_I8, 64)


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


def _differ_mask(typing: Any, one: Any, at: Any, other: Any, to: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        left = _lanes_at(context, builder, signature.args[0], args[0], args[1])
        right = _lanes_at(context, builder, signature.args[2], args[2], args[3])
        return builder.bitcast(builder.icmp_unsigned("!=", left, right), _I64)

    return types.uint64(one, types.int64, other, types.int64), codegen


def _prefetch(typing: Any, array: Any, at: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = _make_array(signature.args[0])(context, builder, args[0]).data
        place = builder.bitcast(builder.gep(data, [args[1]]), _I8.as_pointer())
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [_I8.as_pointer(), number, number, number])
        fetch = _function(builder.module, kind, "llvm.prefetch.p0")
        # Prefetch for reading, with high locality, into the data cache.
        builder.call(fetch, [place, number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(array, types.int64), codegen


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


def _high_product(typing: Any, one: Any, other: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        wide = ir.IntType(128)
        product = builder.mul(builder.zext(args[0], wide), builder.zext(args[1], wide))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), _I64)

    return types.uint64(types.uint64, types.uint64), codegen


byte_at: Any = _intrinsic(_byte_at)
equal_mask: Any = _intrinsic(_equal_mask)
either_mask: Any = _intrinsic(_either_mask)
high_mask: Any = _intrinsic(_high_mask)
copy_block: Any = _intrinsic(_copy_block)
differ_mask: Any = _intrinsic(_differ_mask)
prefetch: Any = _intrinsic(_prefetch)
next_bit: Any = _intrinsic(_next_bit)
population: Any = _intrinsic(_population)
range_mask: Any = _intrinsic(_range_mask)
lower_block: Any = _intrinsic(_lower_block)
word_at: Any = _intrinsic(_word_at)
below: Any = _intrinsic(_below)
after_last: Any = _intrinsic(_after_last)
high_product: Any = _intrinsic(_high_product)
