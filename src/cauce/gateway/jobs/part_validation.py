"""Validates a part before it is appended: size, form, columns, and the file that it refers to: only below allowed
directories, never a file of the service itself. It never parses cells; workers do."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import msgspec

from cauce.errors import CauceError, WrongColumns
from cauce.gateway.errors import BadPart, BadRequest, PartTooLarge, ServiceError, UnsupportedFormat
from cauce.gateway.limits import ServiceLimits
from cauce.gateway.model import PartBody
from cauce.job.receipts import FileStamp
from cauce.scan.files.nofollow import open_nofollow
from cauce.scan.formats.table import FORMATS, format_named
from cauce.scan.formats.upload_check import Bounds, LimitExceeded, UploadCheck
from cauce.scan.parts import FileState, Part, TableFile
from cauce.scan.tables import TableSpec

REFERENCE_FORM = "reference"
"""The form of a part that is not sent, but lies in a file that the workers can read."""

_MAX_NAME_CHARS = 500
_MAX_LINE = 2**53
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class Reference(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A byte range of a CSV file that the workers can read directly."""

    path: str
    start: int
    end: int
    first_line: int
    header: tuple[str, ...]


class BodyCheck:
    """Validates one part of a table. `columns` are the columns that the queries of the job use."""

    def __init__(self, spec: TableSpec, columns: frozenset[str], limits: ServiceLimits) -> None:
        self._spec = spec
        self._limits = limits
        self._file: FoundFile | None = None
        self._check = UploadCheck(spec, columns, Bounds(limits.decompressed_bytes, limits.part_lines))

    @property
    def unpacked_digest(self) -> str:
        """SHA-256 of a compressed body once `part` has decompressed it."""
        return self._check.unpacked_digest

    def stamp(self, seq: int, body: PartBody) -> FileStamp | None:
        """The state of the file that a reference names; None for any other form. Raises a ServiceError."""
        if body.form != REFERENCE_FORM or body.compression:
            return None
        try:
            self._file = find_file(_decode_reference(body.data).path, self._limits)
        except BadPart as problem:
            raise BadPart(f"part {seq} of table {self._spec.name} {problem}") from problem
        state = self._file.state
        return FileStamp(state.bytes, state.modified_ns, state.inode)

    def part(self, seq: int, body: PartBody) -> Part:
        """The part as it is appended to its lane. Raises a ServiceError if it is invalid."""
        label = f"part {seq} of table {self._spec.name}"
        try:
            return self._part(seq, body)
        except ServiceError:
            raise
        except LimitExceeded as problem:
            raise PartTooLarge(f"{label} {problem}: send it in smaller parts") from problem
        except WrongColumns as problem:
            raise BadPart(f"{label}: {problem}") from problem
        except (CauceError, ValueError) as problem:
            raise BadPart(f"{label} {problem}") from problem
        except Exception as problem:
            # Libraries raise all kinds of errors on untrusted bytes: the input is at fault.
            raise BadPart(f"{label} cannot be read as {body.form}: {' '.join(str(problem).split())[:300]}") from problem

    def _part(self, seq: int, body: PartBody) -> Part:
        if body.form != REFERENCE_FORM and body.form not in {each.name for each in FORMATS}:
            known = ", ".join([*(each.name for each in FORMATS if each.media_type), REFERENCE_FORM])
            raise UnsupportedFormat(f"unknown form {body.form!r}; expected one of {known}")
        if body.compression and (body.form == REFERENCE_FORM or not format_named(body.form).compressible):
            raise UnsupportedFormat(
                f"Content-Encoding is not allowed for a part in the form {body.form}: send it without"
            )
        name = _file_name(body.file or self._spec.name)
        if not 0 <= body.first_line <= _MAX_LINE:
            raise BadRequest(f"{body.first_line} is not a valid line number")
        if body.form == REFERENCE_FORM:
            return self._reference(seq, body)
        if body.columns is not None and not body.columns:
            raise BadPart("names no columns: leave the list out, or name the columns of the text")
        file = TableFile(name, "", len(body.data))
        sent = Part(
            seq,
            file,
            body.columns or (),
            body.first_line,
            0,
            len(body.data),
            body.data,
            form=body.form,
            compression=body.compression,
        )
        return format_named(body.form).checked(sent, self._check)

    def _reference(self, seq: int, body: PartBody) -> Part:
        found = _decode_reference(body.data)
        # The same file state that the identity of the part was derived from.
        path, state = self._file or find_file(found.path, self._limits)
        size = state.bytes
        if not 0 <= found.start <= found.end <= size or not 1 <= found.first_line <= _MAX_LINE:
            raise BadPart(f"refers to bytes {found.start} to {found.end} of a file of {size} bytes")
        if found.end - found.start > self._limits.decompressed_bytes:
            raise LimitExceeded(f"refers to more than {self._limits.decompressed_bytes} bytes")
        name = _file_name(body.file or Path(path).name)
        self._check.header(name, found.header)
        return Part(seq, TableFile(name, path, size, state), found.header, found.first_line, found.start, found.end)


def _decode_reference(data: bytes) -> Reference:
    try:
        return msgspec.json.decode(data, type=Reference)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as problem:
        raise BadPart(
            f"is not a valid reference: {problem}; expected path, start, end, first_line and header"
        ) from problem


def _file_name(name: str) -> str:
    """Validates the file name that rejects report. The file is never opened."""
    try:
        name.encode()
    except UnicodeEncodeError as problem:
        raise BadRequest("the file name is not valid Unicode") from problem
    if len(name) > _MAX_NAME_CHARS or _CONTROL.search(name):
        raise BadRequest(f"the file name must be at most {_MAX_NAME_CHARS} characters, without control characters")
    return name


class FoundFile(NamedTuple):
    path: str
    """The real path, with symbolic links resolved."""
    state: FileState


def find_file(path: str, limits: ServiceLimits) -> FoundFile:
    """The current state of a file. The error for a path outside does not reveal whether the file exists."""
    real = "" if "\0" in path or not os.path.isabs(path) else os.path.realpath(path)
    if not real or not _containing(real, limits.references) or _containing(real, limits.private):
        raise BadPart("refers to a file that is not below a directory that this service may read")
    try:
        found = _state_of(real)
    except OSError as problem:
        raise BadPart(f"refers to a file that cannot be read: {problem.strerror}") from problem
    if not stat.S_ISREG(found.st_mode):
        raise BadPart("refers to something that is not a regular file")
    return FoundFile(real, FileState.of(found))


def _containing(real: str, directories: Iterable[Path]) -> list[str]:
    """The directories, with links resolved, that contain a path."""
    resolved = (os.path.realpath(directory) for directory in directories)
    return [directory for directory in resolved if os.path.commonpath([real, directory]) == directory]


def _state_of(real: str) -> os.stat_result:
    """Stats the file without following links created after the check (TOCTOU)."""
    opened = open_nofollow(real)
    try:
        return os.fstat(opened)
    finally:
        os.close(opened)
