"""The CRC-32 of stored records is the same number with and without ISA-L."""

from __future__ import annotations

import importlib
import random
import sys
import zlib

import pytest

from cauce.fabric import checksum

SIZES = (0, 1, 7, 15, 16, 63, 64, 65, 255, 256, 1000, 65_537)
POLYNOMIAL = 0xEDB88320


def bit_by_bit(data: bytes, crc: int = 0) -> int:
    crc ^= 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (POLYNOMIAL if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


@pytest.mark.parametrize("size", SIZES)
def test_it_is_the_crc_of_the_definition_from_any_start(size: int) -> None:
    data = random.Random(size).randbytes(size)
    assert checksum.crc32(data) == bit_by_bit(data)
    assert checksum.crc32(memoryview(data), 0xDEADBEEF) == bit_by_bit(data, 0xDEADBEEF)


def test_pieces_give_the_crc_of_the_whole() -> None:
    data = random.Random(1).randbytes(300_000)
    crc = 0
    for start in range(0, len(data), 70_001):
        crc = checksum.crc32(data[start : start + 70_001], crc)
    assert crc == zlib.crc32(data)


def test_zlib_computes_it_where_isal_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "isal", None)
    monkeypatch.setitem(sys.modules, "isal.isal_zlib", None)
    try:
        assert importlib.reload(checksum).crc32 is zlib.crc32
    finally:
        monkeypatch.undo()
        importlib.reload(checksum)
