"""Seeded random draws that give the same numbers on every machine, Python and NumPy.

Only full-range words of PCG64 and integer arithmetic are used: NumPy promises that bit streams stay as
they are, but not how its distributions use them, and floating-point functions differ between processors.
"""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Octets = npt.NDArray[np.uint8]
Texts = npt.NDArray[np.bytes_]

_HEX_PAIRS = np.frombuffer("".join(f"{i:02x}" for i in range(256)).encode(), dtype="S2")


class Draw:
    """One stream of draws, named by a path such as ``("books", "reviews", block)``."""

    def __init__(self, seed: int, *path: str | int) -> None:
        keys = [seed, *(crc32(part.encode()) if isinstance(part, str) else part for part in path)]
        self._generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence(keys)))

    def words(self, count: int) -> npt.NDArray[np.uint64]:
        drawn = self._generator.integers(0, 1 << 32, count, dtype=np.uint32)
        return drawn.astype(np.uint64)

    def below(self, limit: int | Ints, count: int) -> Ints:
        """`count` integers in [0, limit); a limit for each is possible, all of them under 2**32."""
        scaled = self.words(count) * np.asarray(limit, dtype=np.uint64)
        return (scaled >> np.uint64(32)).astype(np.int64)

    def chance(self, share: float, count: int) -> Bools:
        return self.words(count) < np.uint64(int(share * (1 << 32)))

    def pick(self, cumulative: Ints, count: int) -> Ints:
        """Indexes drawn by weight, given the running sums of integer weights."""
        return np.searchsorted(cumulative, self.below(int(cumulative[-1]), count), side="right")

    def order(self, count: int) -> Ints:
        """A permutation of `count` indexes."""
        return np.argsort(self.words(count), kind="stable")

    def octets(self, count: int, width: int) -> Octets:
        drawn = self._generator.integers(0, 1 << 32, (count * width + 3) // 4, dtype=np.uint32)
        return drawn.astype("<u4").view(np.uint8)[: count * width].reshape(count, width)


def cumulative(weights: Sequence[int] | Ints) -> Ints:
    return np.cumsum(np.asarray(weights, dtype=np.int64))


def apportion(total: int, weights: Ints) -> Ints:
    """Whole numbers in proportion to the weights that add up to `total` exactly."""
    sums = np.cumsum(weights)
    edges = total * sums // int(sums[-1])
    return np.diff(edges, prepend=0)


def zipf(count: int, unit: int = 1_000_000) -> Ints:
    """Weights that fall as rank**-0.75; square roots alone are exact on every machine."""
    root = np.sqrt(np.arange(1, count + 1, dtype=np.float64))
    return np.maximum((unit / (root * np.sqrt(root))).astype(np.int64), 1)


def quantiles(draw: Draw, points: Sequence[tuple[int, int]], count: int) -> Ints:
    """Draws from a distribution given as (millionths, value) points with straight lines between them."""
    at = draw.below(1_000_000, count)
    marks = np.array([mark for mark, _ in points], dtype=np.int64)
    values = np.array([value for _, value in points], dtype=np.int64)
    low: Ints = np.searchsorted(marks, at, side="right") - 1
    rise, run = values[low + 1] - values[low], marks[low + 1] - marks[low]
    drawn: Ints = values[low] + rise * (at - marks[low]) // run
    return drawn


def mixed(values: Ints, salt: int) -> npt.NDArray[np.uint64]:
    """A well-mixed word for each value (splitmix64), for ids that must follow from what they name."""
    word = values.astype(np.uint64) + np.uint64((salt * 0x9E3779B97F4A7C15) % (1 << 64))
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


def hexadecimal(octets: Octets) -> Texts:
    """One lower-case hexadecimal text for each row of octets."""
    rows, width = octets.shape
    return np.ascontiguousarray(_HEX_PAIRS[octets]).view(f"S{2 * width}").reshape(rows)
