"""The body of a part, checked before it is appended: size, form, columns. Cells are the workers' to read."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Sequence
from pathlib import Path

import msgspec

from cauce.errors import CauceError, WrongColumns
from cauce.gateway.columnar import Bounds, TooMuch, check_arrow, check_parquet
from cauce.gateway.errors import BadPart, BadRequest, PartTooLarge, ServiceError, UnsupportedFormat
from cauce.gateway.limits import ServiceLimits
from cauce.gateway.model import PartBody
from cauce.gateway.receipts import FileStamp
from cauce.scan.cut import MOST_COLUMNS, Header, read_header
from cauce.scan.json_cells import json_object
from cauce.scan.parts import Part, TableFile, check_header
from cauce.scan.tables import TableSpec
from cauce.scan.unpack import unpacked

_HEAD_BYTES = 1 << 18
"""A header line, and the first line of JSON, are looked for within so many bytes."""

_MOST_NAME = 500
_LAST_LINE = 2**53
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class Reference(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A range of a CSV file that the workers can read themselves."""

    path: str
    start: int
    end: int
    first_line: int
    header: tuple[str, ...]


class _Measured(msgspec.Struct, frozen=True):
    size: int
    lines: int
    head: bytes


class BodyCheck:
    """The checks for one part of a table. `columns` are those that the job's queries use."""

    def __init__(self, spec: TableSpec, columns: frozenset[str], limits: ServiceLimits) -> None:
        self._spec = spec
        self._columns = columns
        self._limits = limits
        self.unpacked_digest = ""
        """SHA-256 of a compressed body once `part` has decompressed it."""

    def stamp(self, seq: int, body: PartBody) -> FileStamp | None:
        """The state of the file that a reference names; None for any other form. Raises a ServiceError."""
        if body.form != "reference" or body.compression:
            return None
        try:
            return self._allowed(_decode_reference(body.data).path)[1]
        except BadPart as problem:
            raise BadPart(f"part {seq} of table {self._spec.name} {problem}") from problem

    def part(self, seq: int, body: PartBody) -> Part:
        """The part as it goes to its lane; raises a ServiceError."""
        what = f"part {seq} of table {self._spec.name}"
        try:
            return self._part(seq, body)
        except ServiceError:
            raise
        except TooMuch as problem:
            raise PartTooLarge(f"{what} {problem}: send it in smaller parts") from problem
        except WrongColumns as problem:
            raise BadPart(f"{what}: {problem}") from problem
        except (CauceError, ValueError) as problem:
            raise BadPart(f"{what} {problem}") from problem
        except Exception as problem:
            # Whatever a library makes of foreign bytes, it is the bytes.
            raise BadPart(f"{what} cannot be read as {body.form}: {' '.join(str(problem).split())[:300]}") from problem

    def _part(self, seq: int, body: PartBody) -> Part:
        if body.compression and body.form not in ("csv", "ndjson"):
            raise UnsupportedFormat(f"a part in the form {body.form} cannot be compressed as a whole: send it as it is")
        name = _file_name(body.file or self._spec.name)
        if not 0 <= body.first_line <= _LAST_LINE:
            raise BadRequest(f"{body.first_line} cannot be the number of a line")
        match body.form:
            case "csv":
                return self._csv(seq, body, name)
            case "ndjson":
                return self._ndjson(seq, body, name)
            case "arrow" | "parquet":
                return self._columnar(seq, body, name)
            case "reference":
                return self._reference(seq, body)
        raise UnsupportedFormat(f"parts come as csv, arrow, parquet, ndjson or reference, not as {body.form!r}")

    def _csv(self, seq: int, body: PartBody, name: str) -> Part:
        measured = self._measure(body)
        header = Header(body.columns, 0, 1) if body.columns is not None else self._header(measured)
        self._check_header(name, header.cells)
        return Part(
            seq,
            _file(name, body),
            header.cells,
            body.first_line or header.lines + 1,
            header.end,
            measured.size,
            body.data,
            compression=body.compression,
            skip=header.end,
            unpacked_bytes=measured.size,
        )

    def _header(self, measured: _Measured) -> Header:
        header = read_header(measured.head, self._spec.delimiter)
        if header.end == len(measured.head) < measured.size:
            raise BadPart(f"the first line, which names the columns, is longer than {_HEAD_BYTES} bytes")
        return header

    def _ndjson(self, seq: int, body: PartBody, name: str) -> Part:
        measured = self._measure(body)
        whole = measured.head if len(measured.head) == measured.size else measured.head.rpartition(b"\n")[0]
        objects = (json_object(line.strip()) for line in whole.splitlines() if line.strip())
        first = next((each for each in objects if each is not None), None)
        if first is not None:
            self._check_header(f"the first object of {name}", tuple(first))
        return self._inline(seq, body, name, body.first_line or 1, measured.size)

    def _columnar(self, seq: int, body: PartBody, name: str) -> Part:
        bounds = Bounds(self._limits.decompressed_bytes, self._limits.part_lines)
        check = check_arrow if body.form == "arrow" else check_parquet
        self._check_header(name, check(body.data, self._needed, bounds))
        return self._inline(seq, body, name, body.first_line or 2, len(body.data))

    def _inline(self, seq: int, body: PartBody, name: str, first_line: int, size: int) -> Part:
        assert body.form != "reference"
        return Part(
            seq,
            _file(name, body),
            (),
            first_line,
            0,
            size,
            body.data,
            form=body.form,
            compression=body.compression,
            unpacked_bytes=size,
        )

    def _reference(self, seq: int, body: PartBody) -> Part:
        found = _decode_reference(body.data)
        path, stamp = self._allowed(found.path)
        size = stamp.bytes
        if not 0 <= found.start <= found.end <= size or not 1 <= found.first_line <= _LAST_LINE:
            raise BadPart(f"refers to bytes {found.start} to {found.end} of a file that has {size}")
        if found.end - found.start > self._limits.decompressed_bytes:
            raise TooMuch(f"refers to more than {self._limits.decompressed_bytes} bytes")
        name = _file_name(body.file or Path(path).name)
        self._check_header(name, found.header)
        return Part(seq, TableFile(name, path, size), found.header, found.first_line, found.start, found.end)

    def _allowed(self, path: str) -> tuple[str, FileStamp]:
        """The real path of a file below one of the allowed folders, and its state. The answer for a file elsewhere is
        the same whether it is there or not."""
        real = "" if "\0" in path or not os.path.isabs(path) else os.path.realpath(path)
        folders = [os.path.realpath(folder) for folder in self._limits.references]
        if not real or not any(os.path.commonpath([real, folder]) == folder for folder in folders):
            raise BadPart("refers to a file that is not below a folder which this service may read")
        try:
            found = os.stat(real)
        except OSError as problem:
            raise BadPart(f"refers to a file that cannot be read: {problem.strerror}") from problem
        if not stat.S_ISREG(found.st_mode):
            raise BadPart("refers to something that is no regular file")
        return real, FileStamp(found.st_size, found.st_mtime_ns)

    @property
    def _needed(self) -> list[str]:
        return sorted({self._spec.columns[name].header for name in self._columns | set(self._spec.required)})

    def _check_header(self, name: str, cells: Sequence[str]) -> None:
        if len(cells) > MOST_COLUMNS:
            raise BadPart(f"has {len(cells)} columns, and {MOST_COLUMNS} are the most there may be")
        check_header(name, tuple(cells), self._spec, self._columns)

    def _measure(self, body: PartBody) -> _Measured:
        """How much a text is when it is decompressed, never holding more of it than its beginning."""
        if not body.compression:
            return self._bounded(_Measured(len(body.data), body.data.count(b"\n"), body.data[:_HEAD_BYTES]))
        head, size, lines = b"", 0, 0
        digest = hashlib.sha256()
        for chunk in unpacked(body.data, body.compression):
            digest.update(chunk)
            size += len(chunk)
            lines += chunk.count(b"\n")
            if len(head) < _HEAD_BYTES:
                head += chunk[: _HEAD_BYTES - len(head)]
            self._bounded(_Measured(size, lines, b""))
        self.unpacked_digest = digest.hexdigest()
        return _Measured(size, lines, head)

    def _bounded(self, measured: _Measured) -> _Measured:
        if measured.size > self._limits.decompressed_bytes:
            raise TooMuch(f"has more than {self._limits.decompressed_bytes} bytes when it is decompressed")
        if measured.lines > self._limits.part_lines:
            raise TooMuch(f"has more than {self._limits.part_lines} lines")
        return measured


def _decode_reference(data: bytes) -> Reference:
    try:
        return msgspec.json.decode(data, type=Reference)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as problem:
        raise BadPart(f"is no reference: {problem}; it has path, start, end, first_line and header") from problem


def _file(name: str, body: PartBody) -> TableFile:
    return TableFile(name, "", len(body.data))


def _file_name(name: str) -> str:
    """What rejects call the file: a name, never opened."""
    try:
        name.encode()
    except UnicodeEncodeError as problem:
        raise BadRequest("the name of a file is no text") from problem
    if len(name) > _MOST_NAME or _CONTROL.search(name):
        raise BadRequest(f"the name of a file has at most {_MOST_NAME} characters, and none that control")
    return name
