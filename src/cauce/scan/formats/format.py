"""The interface of a file format. `table.py` lists the formats; nothing else depends on which of them exist."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import pyarrow as pa

from cauce.scan.block import Block
from cauce.scan.formats.upload_check import UploadCheck
from cauce.scan.parts import Buffer, Part, TableFile
from cauce.scan.row_index import Lines
from cauce.scan.tables import TableSpec


class Format:
    """A format of files and of uploaded parts.

    A block reports every row that it cannot read as a reject, with its line. Equal input gives equal parts.
    """

    name: ClassVar[str]
    """Stored with each part: never change it."""
    endings: ClassVar[tuple[str, ...]] = ()
    """Of files, without that of a compression; empty if only uploads have this format."""
    media_type: ClassVar[str] = ""
    """Of uploads; empty if only files have this format."""
    compressible: ClassVar[bool] = False
    """Whether its files may end in .gz or .zst, and its uploads have a Content-Encoding."""
    has_header_line: ClassVar[bool] = False
    """Whether its text begins with the names of the columns. Uploads may give these apart from the text."""

    def header(self, file: TableFile, spec: TableSpec) -> tuple[str, ...] | None:
        """The names of a file's columns; None if it has no rows and so names none. Raises WrongColumns or JobFailed if
        the file is not of this format."""
        raise NotImplementedError

    def parts(self, file: TableFile, spec: TableSpec, part_bytes: int, guess: bool) -> Iterator[Part]:
        """All parts of a file, not numbered yet; at least one, so that an empty table has columns too. With `guess`, it
        may choose boundaries without reading the file, if `Block.whole` shows later whether they are right."""
        raise NotImplementedError

    def cuts_hold(self, file: TableFile, spec: TableSpec, part_bytes: int) -> bool:
        """Whether the parts that `guess` gives begin and end at record boundaries. May read the whole file."""
        return True

    def block(self, part: Part, spec: TableSpec, columns: frozenset[str], buffer: Buffer) -> Block:
        """The rows of a part, with at least these columns. The bytes of an upload have passed `checked`."""
        raise NotImplementedError

    def late_block(self, part: Part, spec: TableSpec, columns: frozenset[str], buffer: Buffer) -> Block:
        """As `block`, for a reader that chooses rows by some columns first: the others may be decoded by
        `Block.subset`."""
        return self.block(part, spec, columns, buffer)

    def indexed_block(self, part: Part, spec: TableSpec, columns: frozenset[str], buffer: Buffer) -> Block:
        """As `block`, for a reader that calls `Block.index`."""
        return self.block(part, spec, columns, buffer)

    def lines_block(self, part: Part, spec: TableSpec, columns: frozenset[str], buffer: Buffer, lines: Lines) -> Block:
        """The rows of these lines of a part that has an index. It reports no rejects."""
        raise NotImplementedError

    def checked(self, part: Part, check: UploadCheck) -> Part:
        """An uploaded part as it is stored. Raises ValueError or WrongColumns if its bytes are invalid, and
        LimitExceeded before it decodes more than the limits allow. The bytes are untrusted."""
        raise NotImplementedError

    def header_line(self, cells: tuple[str, ...], spec: TableSpec) -> bytes:
        """The names of columns as the first line of an upload; for formats with such a line."""
        raise NotImplementedError

    def batches(self, file: TableFile, part_bytes: int) -> Iterator[tuple[pa.Table, int]] | None:
        """The rows of a file in pieces of about this size, which a client sends as Arrow, each with the bytes of the
        file that it accounts for. None if a client can send the parts of a file as they are."""
        return None
