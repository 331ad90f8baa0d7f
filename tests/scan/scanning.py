"""Reads CSV bytes with the scanner, whole or in parts, for comparison with the reference reader."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cauce.scan.csv.cut import Header, Range, cut_ranges, cut_stream, read_header
from cauce.scan.csv.gather import gather_text
from cauce.scan.csv.kernel import BROKEN, QUOTED_LIMIT
from cauce.scan.csv.located import line_of, locate, padded
from cauce.scan.native.simd import SPARE_BYTES, Bytes
from tests.oracle import reader

TOKENS = [b"a", b",", b'"', b"\n", b"\r", b";", "é".encode(), b"\xff"]
RUNS = [
    *TOKENS,
    b'","',
    b'""',
    b'"\n',
    b',"',
    b'a","b\n',
    b"\r\n",
    b"a" * 61,
    b"x,y\n",
    b'"a""b",c\n',
    b'""",',
]


@dataclass(frozen=True)
class Reading:
    """The records with their lines, and the rejected lines with the number of cells found there."""

    records: list[tuple[int, list[str]]]
    faults: list[tuple[int, int]]

    def __add__(self, other: Reading) -> Reading:
        return Reading(self.records + other.records, self.faults + other.faults)


def poisoned(data: bytes, filler: bytes = b'"\n,') -> Bytes:
    """A buffer whose spare bytes would change the result of a kernel that used them."""
    buffer = padded(data)
    buffer[len(data) :] = np.resize(np.frombuffer(filler, np.uint8), SPARE_BYTES)
    return buffer


def read_part(
    data: bytes, width: int, *, first_line: int = 1, delimiter: str = ",", limit: int = QUOTED_LIMIT
) -> Reading:
    buffer = poisoned(data)
    found = locate(buffer, len(data), delimiter=delimiter, width=width, columns=range(width), limit=limit)
    columns = [
        gather_text(buffer, found.start[k], found.length[k], found.escaped[k]).fill_null("").to_list()
        for k in range(width)
    ]
    lines = line_of(buffer, found.record_start, first_line).tolist()
    records = [(line, list(cells)) for line, cells in zip(lines, zip(*columns, strict=True), strict=True)]
    fault_lines = line_of(buffer, found.fault_offset, first_line).tolist()
    return Reading(records, list(zip(fault_lines, found.fault_cells.tolist(), strict=True)))


def read_whole(data: bytes, *, delimiter: str = ",", limit: int = QUOTED_LIMIT) -> Reading:
    header = read_header(data, delimiter)
    width = len(header.cells)
    body = data[header.end :]
    return read_part(body, width, first_line=header.lines + 1, delimiter=delimiter, limit=limit)


def read_in_parts(
    data: bytes,
    part_bytes: int,
    *,
    window_bytes: int = 2**20,
    delimiter: str = ",",
    limit: int = QUOTED_LIMIT,
) -> Reading:
    """Splits the data as a file and as a stream, which must agree, and reads it part by part."""
    chunks = _chunked(data, part_bytes + 5)
    header, *pieces = cut_stream(
        chunks, delimiter=delimiter, part_bytes=part_bytes, window_bytes=window_bytes, limit=limit
    )
    assert isinstance(header, Header)
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        cut = cut_ranges(file.name, delimiter=delimiter, part_bytes=part_bytes, limit=limit, window_bytes=window_bytes)
        ranges = [(part.start, part.end, part.first_line) for part in cut]
    reading = Reading([], [])
    at = header.end
    for piece, expected in zip(pieces, ranges, strict=True):
        assert isinstance(piece, Range)
        assert piece.data is not None
        assert (piece.start, piece.start + len(piece.data), piece.first_line) == expected
        assert piece.start == at
        assert data.startswith(piece.data, at)
        at += len(piece.data)
        reading += read_part(
            piece.data, len(header.cells), first_line=piece.first_line, delimiter=delimiter, limit=limit
        )
    assert at == len(data)
    return reading


def reference(data: bytes, *, delimiter: str = ",", limit: int = QUOTED_LIMIT) -> Reading:
    sheet = reader.read(data, delimiter, limit)
    faults = [
        (reject.line, BROKEN if reject.reason == reader.BROKEN_QUOTING else int(reject.reason.split()[-1]))
        for reject in sheet.rejects
    ]
    return Reading([(record.line, record.cells) for record in sheet.records], faults)


def random_body(rng: random.Random, most_tokens: int = 40) -> bytes:
    """Random bytes that occasionally break every rule."""
    tokens = rng.choice([TOKENS, RUNS, [b"a", b",", b'"', b"\n"], [b'"', b"\n", b",", b'a","b\n']])
    return b"".join(rng.choices(tokens, k=rng.randrange(most_tokens)))


def mutated(rng: random.Random, data: bytes) -> bytes:
    """Well-formed bytes with a few bytes changed, removed or inserted."""
    changed = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(changed) + 1)
        changed[at : at + rng.randrange(3)] = rng.choice([b"", *TOKENS])
    return bytes(changed)


def _chunked(data: bytes, size: int) -> Iterator[bytes]:
    for at in range(0, len(data), size):
        yield data[at : at + size]
        yield b""
