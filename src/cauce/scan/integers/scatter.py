"""Hashes integers, and moves rows next to the others of their partition: in one pass for each column.

The hash is SplitMix64, as in `operators/partition.py`: part of every stored job.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cauce.scan.integers.columns import Values
from cauce.scan.native import I8, VOID, Array, kernel
from cauce.scan.native.kernel import inline_piece

Hashes = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.uint16]
Counts = npt.NDArray[np.int64]

_HASHES = Array("uint64", read=True)
_POSITIONS = Array("int32", read=True)


@inline_piece
def mixed_number(value: Any) -> Any:
    """One step of SplitMix64."""
    value = value + np.uint64(0x9E3779B97F4A7C15)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@kernel(VOID, _HASHES, Array("uint64"))
def mix(values: Hashes, mixed: Hashes) -> None:
    for i in range(values.size):
        mixed[i] = mixed_number(values[i])


@kernel(I8, _HASHES)
def digest_words(words: Hashes) -> int:
    """A digest of 64 bits. Four chains, so that their multiplications overlap."""
    a = np.uint64(words.size)
    b, c, d = np.uint64(1), np.uint64(2), np.uint64(3)
    whole = words.size - words.size % 4
    for i in range(0, whole, 4):
        a = mixed_number(a ^ words[i])
        b = mixed_number(b ^ words[i + 1])
        c = mixed_number(c ^ words[i + 2])
        d = mixed_number(d ^ words[i + 3])
    for i in range(whole, words.size):
        a = mixed_number(a ^ words[i])
    return np.int64(mixed_number(a ^ mixed_number(b ^ mixed_number(c ^ mixed_number(d)))))  # type: ignore[return-value]


@kernel(VOID, _HASHES, I8, I8, Array("uint16"), Array("int64"), Array("uint64"), Array("uint64"))
def _number(
    hashes: Hashes, divisor: int, count: int, numbers: Numbers, counts: Counts, lows: Hashes, highs: Hashes
) -> None:
    shift = np.uint64(0)
    while np.uint64(1) << shift < np.uint64(divisor):
        shift += np.uint64(1)
    shifts = np.uint64(1) << shift == np.uint64(divisor)
    masks = count & (count - 1) == 0
    for i in range(hashes.size):
        hashed = hashes[i]
        quotient = hashed >> shift if shifts else hashed // np.uint64(divisor)
        number = quotient & np.uint64(count - 1) if masks else quotient % np.uint64(count)
        numbers[i] = number
        counts[number] += 1
        lows[number] = min(lows[number], hashed)
        highs[number] = max(highs[number], hashed)


@kernel(VOID, Array("uint16", read=True), Array("int64"), Array("int32"))
def _place(numbers: Numbers, starts: Counts, positions: npt.NDArray[np.int32]) -> None:
    for i in range(numbers.size):
        number = numbers[i]
        positions[i] = starts[number]
        starts[number] += 1


@kernel(VOID, Array("int64", read=True), _POSITIONS, Array("int64"))
def _scatter_8(values: Values, positions: npt.NDArray[np.int32], out: Values) -> None:
    for i in range(values.size):
        out[positions[i]] = values[i]


@kernel(VOID, Array("int32", read=True), _POSITIONS, Array("int32"))
def _scatter_4(values: Values, positions: npt.NDArray[np.int32], out: Values) -> None:
    for i in range(values.size):
        out[positions[i]] = values[i]


@kernel(VOID, Array("uint16", read=True), _POSITIONS, Array("uint16"))
def _scatter_2(values: Values, positions: npt.NDArray[np.int32], out: Values) -> None:
    for i in range(values.size):
        out[positions[i]] = values[i]


@kernel(VOID, Array("uint8", read=True), _POSITIONS, Array("uint8"))
def _scatter_1(values: Values, positions: npt.NDArray[np.int32], out: Values) -> None:
    for i in range(values.size):
        out[positions[i]] = values[i]


@kernel(VOID, _HASHES, Array("uint64"))
def vote(hashes: Hashes, state: Hashes) -> None:
    """Boyer and Moore's vote: `state` is a candidate and its surplus. The hash of more than half of all rows that were
    counted, if there is one, is the candidate."""
    candidate = state[0]
    surplus = state[1]
    for i in range(hashes.size):
        if surplus == np.uint64(0):
            candidate = hashes[i]
        if hashes[i] == candidate:
            surplus += np.uint64(1)
        else:
            surplus -= np.uint64(1)
    state[0] = candidate
    state[1] = surplus


_SCATTER: dict[int, tuple[Any, type[np.generic]]] = {
    8: (_scatter_8, np.int64),
    4: (_scatter_4, np.int32),
    2: (_scatter_2, np.uint16),
    1: (_scatter_1, np.uint8),
}


def mixed(numbers: Hashes) -> Hashes:
    """One step of SplitMix64 from each number."""
    made = np.empty_like(numbers)
    mix(np.ascontiguousarray(numbers), made)
    return made


def digest_bytes(data: bytes) -> int:
    """A digest of 64 bits of data whose size is a multiple of 8."""
    return int(digest_words(np.frombuffer(data, np.uint64))) & ((1 << 64) - 1)


@dataclass(frozen=True)
class Placement:
    """The partition of each row, and how the partitions are laid out: rows keep their order within each."""

    numbers: Numbers
    counts: Counts
    lows: Hashes
    """The smallest hash of each partition."""
    highs: Hashes

    @classmethod
    def of(cls, hashes: Hashes, count: int, divisor: int = 1) -> Placement:
        """The hash, divided by `divisor`, modulo `count`."""
        numbers = np.empty(len(hashes), np.uint16)
        counts = np.zeros(count, np.int64)
        lows, highs = np.full(count, 2**64 - 1, np.uint64), np.zeros(count, np.uint64)
        _number(np.ascontiguousarray(hashes), divisor, count, numbers, counts, lows, highs)
        return cls(numbers, counts, lows, highs)

    @classmethod
    def apart(cls, hashes: Hashes, hot: int) -> Placement:
        """Partition 0 has the rows of one hash, partition 1 all others."""
        numbers = (hashes != np.uint64(hot)).astype(np.uint16)
        others = hashes[numbers == 1]
        bounds = (int(others.min()), int(others.max())) if len(others) else (2**64 - 1, 0)
        counts = np.array([len(hashes) - len(others), len(others)])
        return cls(numbers, counts, np.array([hot, bounds[0]], np.uint64), np.array([hot, bounds[1]], np.uint64))

    @property
    def starts(self) -> Counts:
        """The first row of each partition after `scatter`."""
        return np.cumsum(self.counts) - self.counts

    def positions(self) -> npt.NDArray[np.int32]:
        made = np.empty(len(self.numbers), np.int32)
        _place(self.numbers, self.starts, made)
        return made


def scatter(values: Values, positions: npt.NDArray[np.int32]) -> Values:
    """The value of each row at its position."""
    run, dtype = _SCATTER[values.dtype.itemsize]
    out = np.empty(len(values), dtype)
    run(values.view(dtype), positions, out)
    return out.view(values.dtype)
