"""Newline-delimited JSON: each value becomes the text of the equivalent CSV cell.

Strings and the digits of numbers are kept unchanged, lists become list literals. A line that is not an object is
rejected; a missing key is an empty cell.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from operator import attrgetter

import msgspec
import polars as pl

from cauce.api import http
from cauce.scan.cells.json_cells import cell_text, json_object
from cauce.scan.cells.kinds import Kind
from cauce.scan.files.file_bytes import chunks_of
from cauce.scan.formats.lines import BOM, Cells, LineFormat
from cauce.scan.formats.upload_check import HEAD_BYTES, Measured, UploadCheck
from cauce.scan.parts import Part, TableFile
from cauce.scan.tables import TableSpec

_SPACE = b" \t\r\n"
_BATCH_ROWS = 2**14
"""Decoded values take several times the room of their text, so only those of so many lines are held at a time."""
_ERRORS = (msgspec.DecodeError, UnicodeError, RecursionError)


class Ndjson(LineFormat):
    name = "ndjson"
    endings = (".ndjson", ".jsonl")
    media_type = http.NDJSON
    reason = "not a JSON object"

    def header(self, file: TableFile, spec: TableSpec) -> tuple[str, ...] | None:
        head = b""
        for chunk in chunks_of(file):
            head += chunk
            if len(head) > HEAD_BYTES:
                break
        return keys_of(head.removeprefix(BOM), whole=len(head) <= HEAD_BYTES)

    def cells(self, line: bytes, kinds: Mapping[str, Kind], spec: TableSpec) -> Cells | None:
        try:
            row = msgspec.structs.astuple(_decoder(tuple(kinds)).decode(line))
            return {header: cell_text(raw, kind) for (header, kind), raw in zip(kinds.items(), row, strict=True)}
        except _ERRORS:
            return None

    def columns(self, lines: list[bytes], kinds: Mapping[str, Kind]) -> dict[str, pl.Series] | None:
        batches = range(0, max(len(lines), 1), _BATCH_ROWS)
        try:
            decoded = [_decoded(lines[at : at + _BATCH_ROWS], kinds) for at in batches]
        except _ERRORS:
            return None
        return {header: pl.concat([batch[header] for batch in decoded]) for header in kinds}

    def check_head(self, part: Part, measured: Measured, check: UploadCheck) -> None:
        keys = keys_of(measured.head, measured.whole)
        if keys is not None:
            check.header(f"the first objects of {part.file.name}", keys)


@lru_cache(maxsize=64)
def _decoder(headers: tuple[str, ...]) -> msgspec.json.Decoder[msgspec.Struct]:
    """Decodes an object to the undecoded values of these keys; a missing one is null."""
    null = msgspec.Raw(b"null")
    names = [f"f{number}" for number in range(len(headers))]
    fields = [(name, msgspec.Raw, null) for name in names]
    return msgspec.json.Decoder(
        msgspec.defstruct("Row", fields, rename=dict(zip(names, headers, strict=True)), gc=False)
    )


def _decoded(lines: list[bytes], kinds: Mapping[str, Kind]) -> dict[str, pl.Series]:
    decode = _decoder(tuple(kinds)).decode
    rows = [decode(line) for line in lines]
    return {
        header: _texts(header, kind, list(map(attrgetter(f"f{number}"), rows)))
        for number, (header, kind) in enumerate(kinds.items())
    }


def _texts(header: str, kind: Kind, raws: list[msgspec.Raw]) -> pl.Series:
    """The cells of a column, as `cell_text` has them."""
    if not raws:
        return pl.Series(header, [], dtype=pl.String)
    # No value of a line has a line end in it.
    raw = pl.Series(header, [b"\n".join(raws).decode()]).str.split("\n").explode()
    raw = raw.set(raw == "null", None)
    quoted = raw.str.starts_with('"')
    texts = raw.str.strip_prefix('"').str.strip_suffix('"').zip_with(quoted.fill_null(False), raw)
    # Escapes are decoded one by one, and arrays and objects depend on the kind.
    escaped = quoted & raw.str.contains("\\", literal=True)
    special = (escaped | raw.str.starts_with("[") | raw.str.starts_with("{")).fill_null(False).arg_true()
    if len(special):
        texts = texts.scatter(special, pl.Series([cell_text(raws[at], kind) for at in special], dtype=pl.String))
    return texts


def keys_of(head: bytes, whole: bool) -> tuple[str, ...] | None:
    """The keys of the objects in the first lines of a text; None if there is no object."""
    lines = (head if whole else head.rpartition(b"\n")[0]).split(b"\n")
    objects = (json_object(line.strip(_SPACE)) for line in lines)
    found = [each for each in objects if each is not None]
    return tuple(dict.fromkeys(key for each in found for key in each)) if found else None
