"""The limits and checks that apply to uploaded parts of every format."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cauce.scan.csv.cut import MOST_COLUMNS
from cauce.scan.csv.kernel import count_lines
from cauce.scan.files.unpack import unpacked
from cauce.scan.headers import check_header, headers_of
from cauce.scan.parts import Part
from cauce.scan.tables import TableSpec

HEAD_BYTES = 1 << 18
"""The header line, or the first object of NDJSON, is only searched within this many bytes."""


@dataclass(frozen=True)
class Bounds:
    """Limits on a decoded part."""

    bytes: int
    rows: int


class LimitExceeded(ValueError):
    """The part exceeds its bounds."""


@dataclass(frozen=True)
class Measured:
    """The decompressed text of a part: its size, number of lines, and first bytes."""

    size: int
    lines: int
    head: bytes

    @property
    def whole(self) -> bool:
        return len(self.head) == self.size


class UploadCheck:
    """Checks an uploaded part of a table. `columns` are the columns that the queries of the job use."""

    def __init__(self, spec: TableSpec, columns: frozenset[str], bounds: Bounds) -> None:
        self.spec = spec
        self.columns = columns
        self.bounds = bounds
        self.unpacked_digest = ""
        """SHA-256 of a compressed body once `measure` has decompressed it."""

    @property
    def needed(self) -> list[str]:
        """The names in the header of the columns that will be read."""
        return headers_of(self.spec, self.columns)

    def header(self, name: str, cells: Sequence[str]) -> None:
        """Raises unless these are the names of the columns of the table. `name` is shown in the message."""
        if len(cells) > MOST_COLUMNS:
            raise ValueError(f"has {len(cells)} columns; at most {MOST_COLUMNS} are allowed")
        check_header(name, tuple(cells), self.spec, self.columns)

    def measure(self, part: Part) -> Measured:
        """Measures the decompressed text. Keeps only its first HEAD_BYTES in memory."""
        data = part.data or b""
        if not part.compression:
            return self._within(Measured(len(data), _lines(data), data[:HEAD_BYTES]))
        head, size, lines = b"", 0, 0
        digest = hashlib.sha256()
        for chunk in unpacked(data, part.compression):
            digest.update(chunk)
            size += len(chunk)
            lines += _lines(chunk)
            if len(head) < HEAD_BYTES:
                head += chunk[: HEAD_BYTES - len(head)]
            self._within(Measured(size, lines, b""))
        self.unpacked_digest = digest.hexdigest()
        return Measured(size, lines, head)

    def _within(self, measured: Measured) -> Measured:
        if measured.size > self.bounds.bytes:
            raise LimitExceeded(f"has more than {self.bounds.bytes} bytes after decompression")
        if measured.lines > self.bounds.rows:
            raise LimitExceeded(f"has more than {self.bounds.rows} lines")
        return measured


def _lines(data: bytes) -> int:
    """Other threads run meanwhile: `bytes.count` is slower and blocks the interpreter."""
    return count_lines(np.frombuffer(data, np.uint8), 0, len(data))
