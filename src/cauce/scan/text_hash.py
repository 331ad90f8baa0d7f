"""Hashes texts with XXH3, 64 bits, seed 0: the same value in every process, machine and version.

The function is part of every stored job: it must never give another value. It is specified at
https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md; the names below are those of the specification.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from cauce.scan.native import VOID, Array, kernel, piece
from cauce.scan.native.kernel import inline_piece
from cauce.scan.native.simd import BYTES, Bytes, Ints, byte_at, word_at

Hashes = npt.NDArray[np.uint64]
Views = npt.NDArray[np.int32]

_SECRET = np.frombuffer(
    bytes.fromhex(
        "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221"
        "b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
        "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb"
        "170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
    ),
    np.uint8,
)
_P32_1, _P32_2, _P32_3 = np.uint64(0x9E3779B1), np.uint64(0x85EBCA77), np.uint64(0xC2B2AE3D)
_P64_1, _P64_2 = np.uint64(0x9E3779B185EBCA87), np.uint64(0xC2B2AE3D27D4EB4F)
_P64_3, _P64_4 = np.uint64(0x165667B19E3779F9), np.uint64(0x85EBCA77C2B2AE63)
_P64_5 = np.uint64(0x27D4EB2F165667C5)
_MX1, _MX2 = np.uint64(0x165667919E3779F9), np.uint64(0x9FB21C651E98DF25)
_LOW = np.uint64(0xFFFFFFFF)
_BYTES_2 = np.uint64(0x0000FFFF0000FFFF)
_BYTES_1 = np.uint64(0x00FF00FF00FF00FF)
_STRIPE, _BLOCK, _STRIPES = 64, 1024, 16
_VIEW_BYTES, _INLINE_BYTES = 16, 12
_INTS32 = Array("int32", read=True)
_STATE = Array("uint64", read=True)


def text_hashes(texts: pl.Series) -> Hashes:
    """The hash of each text as UTF-8. That of a null is the hash of the empty text."""
    present = texts.fill_null("") if texts.null_count() else texts
    # Arrow's string views, without a copy. The kernel reaches the other buffers by their distance from the views.
    array = present.rechunk().to_arrow(compat_level=pl.CompatLevel.newest())
    _, first, *others = array.buffers()
    hashes = np.empty(len(array), np.uint64)
    if len(array):
        views = np.frombuffer(first, np.uint8)[array.offset * _VIEW_BYTES : (array.offset + len(array)) * _VIEW_BYTES]
        origins = np.array([each.address - views.ctypes.data for each in others], np.int64)
        _hash_all(views, views.view(np.int32), origins, _SECRET, _starting_lanes(), np.empty(8, np.uint64), hashes)
    return hashes


def _starting_lanes() -> Hashes:
    return np.array([_P32_3, _P64_1, _P64_2, _P64_3, _P64_4, _P32_2, _P64_5, _P32_1], np.uint64)


@inline_piece
def _folded(one: Any, other: Any) -> Any:
    """The halves of the product of 128 bits, combined by XOR."""
    low = (one & _LOW) * (other & _LOW)
    left = (one >> np.uint64(32)) * (other & _LOW)
    cross = (low >> np.uint64(32)) + (left & _LOW) + (one & _LOW) * (other >> np.uint64(32))
    upper = (left >> np.uint64(32)) + (cross >> np.uint64(32)) + (one >> np.uint64(32)) * (other >> np.uint64(32))
    return upper ^ ((cross << np.uint64(32)) | (low & _LOW))


@inline_piece
def _avalanche(value: Any) -> Any:
    value = (value ^ (value >> np.uint64(37))) * _MX1
    return value ^ (value >> np.uint64(32))


@inline_piece
def _avalanche_short(value: Any) -> Any:
    """The avalanche of XXH64."""
    value = (value ^ (value >> np.uint64(33))) * _P64_2
    value = (value ^ (value >> np.uint64(29))) * _P64_3
    return value ^ (value >> np.uint64(32))


@inline_piece
def _turned(value: Any) -> Any:
    """With the bytes in the opposite order."""
    value = (value >> np.uint64(32)) | (value << np.uint64(32))
    value = ((value >> np.uint64(16)) & _BYTES_2) | ((value & _BYTES_2) << np.uint64(16))
    return ((value >> np.uint64(8)) & _BYTES_1) | ((value & _BYTES_1) << np.uint64(8))


@inline_piece
def _byte(data: Bytes, at: int) -> Any:
    return np.uint64(byte_at(data, at))


@inline_piece
def _half_word(data: Bytes, at: int) -> Any:
    """Four bytes as one little-endian number. No more is read: they may be the last ones of the buffer."""
    first = _byte(data, at) | (_byte(data, at + 1) << np.uint64(8))
    return first | (_byte(data, at + 2) << np.uint64(16)) | (_byte(data, at + 3) << np.uint64(24))


@inline_piece
def _mixed(data: Bytes, at: int, secret: Bytes, key: int) -> Any:
    """The share of 16 bytes."""
    return _folded(word_at(data, at) ^ word_at(secret, key), word_at(data, at + 8) ^ word_at(secret, key + 8))


@piece
def _up_to_16(data: Bytes, at: int, size: int, secret: Bytes) -> Any:
    if size > 8:
        low = word_at(data, at) ^ word_at(secret, 24) ^ word_at(secret, 32)
        high = word_at(data, at + size - 8) ^ word_at(secret, 40) ^ word_at(secret, 48)
        return _avalanche(np.uint64(size) + _turned(low) + high + _folded(low, high))
    if size >= 4:
        joined = _half_word(data, at + size - 4) + (_half_word(data, at) << np.uint64(32))
        keyed = joined ^ word_at(secret, 8) ^ word_at(secret, 16)
        keyed ^= ((keyed << np.uint64(49)) | (keyed >> np.uint64(15))) ^ (
            (keyed << np.uint64(24)) | (keyed >> np.uint64(40))
        )
        keyed *= _MX2
        keyed ^= (keyed >> np.uint64(35)) + np.uint64(size)
        keyed *= _MX2
        return keyed ^ (keyed >> np.uint64(28))
    if size:
        first, middle = _byte(data, at), _byte(data, at + (size >> 1))
        joined = (first << np.uint64(16)) | (middle << np.uint64(24)) | _byte(data, at + size - 1)
        joined |= np.uint64(size) << np.uint64(8)
        return _avalanche_short(joined ^ ((word_at(secret, 0) ^ word_at(secret, 4)) & _LOW))
    return _avalanche_short(word_at(secret, 56) ^ word_at(secret, 64))


@piece
def _up_to_128(data: Bytes, at: int, size: int, secret: Bytes) -> Any:
    end = at + size
    sum_ = np.uint64(size) * _P64_1
    for pair in range((size - 1) >> 5, -1, -1):
        sum_ += _mixed(data, at + 16 * pair, secret, 32 * pair)
        sum_ += _mixed(data, end - 16 * (pair + 1), secret, 32 * pair + 16)
    return _avalanche(sum_)


@piece
def _up_to_240(data: Bytes, at: int, size: int, secret: Bytes) -> Any:
    sum_ = np.uint64(size) * _P64_1
    for number in range(8):
        sum_ += _mixed(data, at + 16 * number, secret, 16 * number)
    sum_ = _avalanche(sum_)
    for number in range(8, size >> 4):
        sum_ += _mixed(data, at + 16 * number, secret, 16 * (number - 8) + 3)
    return _avalanche(sum_ + _mixed(data, at + size - 16, secret, 119))


@inline_piece
def _accumulate(lanes: Hashes, data: Bytes, at: int, secret: Bytes, key: int) -> None:
    for lane in range(8):
        value = word_at(data, at + 8 * lane)
        keyed = value ^ word_at(secret, key + 8 * lane)
        lanes[lane ^ 1] += value
        lanes[lane] += (keyed & _LOW) * (keyed >> np.uint64(32))


@piece
def _longer(data: Bytes, at: int, size: int, secret: Bytes, lanes: Hashes) -> Any:
    blocks = (size - 1) // _BLOCK
    for block in range(blocks):
        for stripe in range(_STRIPES):
            _accumulate(lanes, data, at + block * _BLOCK + stripe * _STRIPE, secret, 8 * stripe)
        for lane in range(8):
            value = lanes[lane]
            lanes[lane] = (value ^ (value >> np.uint64(47)) ^ word_at(secret, 128 + 8 * lane)) * _P32_1
    for stripe in range((size - 1 - blocks * _BLOCK) // _STRIPE):
        _accumulate(lanes, data, at + blocks * _BLOCK + stripe * _STRIPE, secret, 8 * stripe)
    _accumulate(lanes, data, at + size - _STRIPE, secret, 121)
    sum_ = np.uint64(size) * _P64_1
    for pair in range(4):
        sum_ += _folded(
            lanes[2 * pair] ^ word_at(secret, 11 + 16 * pair), lanes[2 * pair + 1] ^ word_at(secret, 19 + 16 * pair)
        )
    return _avalanche(sum_)


@kernel(VOID, BYTES, _INTS32, Array("int64", read=True), BYTES, _STATE, Array("uint64"), Array("uint64"))
def _hash_all(
    data: Bytes, views: Views, origins: Ints, secret: Bytes, start: Hashes, lanes: Hashes, hashes: Hashes
) -> None:
    for i in range(hashes.size):
        size: Any = np.int64(views[4 * i])
        # A short text is in its view; the view of another one holds its first bytes, its buffer and its place there.
        at = 16 * i + 4
        if size > _INLINE_BYTES:
            at = origins[views[4 * i + 2]] + np.int64(views[4 * i + 3])
        if size <= 16:
            hashes[i] = _up_to_16(data, at, size, secret)
        elif size <= 128:
            hashes[i] = _up_to_128(data, at, size, secret)
        elif size <= 240:
            hashes[i] = _up_to_240(data, at, size, secret)
        else:
            for lane in range(8):
                lanes[lane] = start[lane]
            hashes[i] = _longer(data, at, size, secret, lanes)
