"""SIMD instructions for kernels: operations on 64 bytes at once and on bit masks.

They read or write 64 bytes even past the end of an array: callers must keep ``SPARE_BYTES`` free there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cauce.scan.native.kernel import instruction
from cauce.scan.native.types import Array

SPARE_BYTES = 64
"""Bytes that a buffer must have after its last byte of data."""

BYTES = Array("uint8", read=True)

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]

byte_at: Callable[[Bytes, int], int] = instruction("byte_at")
"""The byte at an index, without the check for negative indexes."""

equal_mask: Callable[[Bytes, int, int], int] = instruction("equal_mask")
"""Bit ``i`` says whether byte ``at + i`` equals the given one."""

either_mask: Callable[[Bytes, int, int, int], int] = instruction("either_mask")
"""Bit ``i`` says whether byte ``at + i`` equals one of the two given ones."""

high_mask: Callable[[Bytes, int], int] = instruction("high_mask")
"""Bit ``i`` says whether byte ``at + i`` is outside ASCII."""

copy_block: Callable[[Bytes, int, Bytes, int], None] = instruction("copy_block")
"""Copies 64 bytes."""

differ_mask: Callable[[Bytes, int, Bytes, int], int] = instruction("differ_mask")
"""Bit ``i`` says whether byte ``at + i`` of the one array is not byte ``to + i`` of the other."""

prefetch: Callable[[NDArray[Any], int], None] = instruction("prefetch")
"""Prefetches the item at ``at`` into the cache, without waiting for it."""

next_bit: Callable[[int, int], int] = instruction("next_bit")
"""The lowest bit of the mask at or above ``bit`` (0 to 63), or 64."""

population: Callable[[int], int] = instruction("population")
"""The number of set bits in the mask."""

range_mask: Callable[[Bytes, int, int, int], int] = instruction("range_mask")
"""Bit ``i`` says whether byte ``at + i`` is one of ``low`` to ``high``, both included."""

lower_block: Callable[[Bytes, Bytes, int], None] = instruction("lower_block")
"""Copies 64 bytes to the start of the target, with ASCII letters in lower case."""

word_at: Callable[[Bytes, int], int] = instruction("word_at")
"""Eight bytes as one little-endian number."""

below: Callable[[int], int] = instruction("below")
"""A mask of all bits below the given one (0 to 64)."""

after_last: Callable[[int], int] = instruction("after_last")
"""One more than the highest set bit, or 0."""

high_product: Callable[[int, int], int] = instruction("high_product")
"""The upper 64 bits of the product of two unsigned numbers."""
