"""Argument and result types of kernels, and their calling convention in compiled code.

numba passes an array as its owner, its parent, its size, the size of an item, the address, the shape and the
strides; a tuple as its members. Owner and parent are for arrays that the callee may keep, which no kernel does.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Scalar:
    numba: str
    """The name of the numba type."""
    native: type[Any]

    def natives(self) -> Iterator[type[Any]]:
        yield self.native

    def values(self, value: Any) -> tuple[Any, ...]:
        return (value,)


@dataclass(frozen=True)
class Array:
    """A contiguous array. If ``read`` only, writable arrays are accepted too, with the same compiled code."""

    item: str
    dimensions: int = 1
    read: bool = False

    def natives(self) -> Iterator[type[Any]]:
        return iter([ctypes.c_int64] * (5 + 2 * self.dimensions))

    def values(self, value: Any) -> tuple[Any, ...]:
        flags = value.flags
        if value.dtype != ITEMS[self.item] or value.ndim != self.dimensions or not flags.c_contiguous:
            raise TypeError(f"the kernel takes {self}, not {value.dtype} {value.shape} {value.strides}")
        if not (self.read or flags.writeable):
            raise TypeError(f"the kernel writes to {self}, but the array is read-only")
        address = value.__array_interface__["data"][0]
        return (0, 0, value.size, value.itemsize, address, *value.shape, *value.strides)


@dataclass(frozen=True)
class Struct:
    """A named tuple whose members are of the given types."""

    form: type[Any]
    members: tuple[Scalar | Array, ...]

    def natives(self) -> Iterator[type[Any]]:
        for member in self.members:
            yield from member.natives()

    def values(self, value: Any) -> tuple[Any, ...]:
        flat: tuple[Any, ...] = ()
        for member, each in zip(self.members, value, strict=True):
            flat += member.values(each)
        return flat


Type = Scalar | Array | Struct

VOID = Scalar("void", ctypes.c_int64)
BOOL = Scalar("boolean", ctypes.c_int8)
U1 = Scalar("uint8", ctypes.c_uint8)
I8 = Scalar("int64", ctypes.c_int64)
F8 = Scalar("float64", ctypes.c_double)

ITEMS = {name: np.dtype(name) for name in ("uint8", "uint16", "int32", "int64", "uint64", "float64")}
