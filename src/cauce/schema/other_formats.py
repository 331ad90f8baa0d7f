"""Recognises files of other formats by their first bytes: a workbook, an image or a compressed file that has the ending
of a text file. A text that merely begins with the same letters is not taken for one."""

from __future__ import annotations

import re
import shlex

from cauce.errors import WrongColumns
from cauce.scan.cells.json_cells import json_object
from cauce.scan.parts import TableFile

_HEAD = 512
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")
_EXPORT = "save its table as CSV"
_UNPACK = "unpack it"
_BINARY = (
    (b"PK\x03\x04", "an Excel workbook or a zip archive", "save its sheet as CSV, or unpack it"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Excel workbook", "save its sheet as CSV"),
    (b"PAR1", "Parquet", "give it the ending .parquet"),
    (b"\x1f\x8b", "gzip", "add .gz to its name"),
    (b"\x28\xb5\x2f\xfd", "Zstandard", "add .zst to its name"),
    (b"BZh", "bzip2", _UNPACK),
    (b"\xfd7zXZ\x00", "xz", _UNPACK),
    (b"ARROW1", "an Arrow file", "save it as Parquet"),
    (b"SQLite format 3\x00", "an SQLite database", "export its tables as CSV"),
    (b"\x89PNG\r\n\x1a\n", "a PNG image", _EXPORT),
    (b"\xff\xd8\xff", "a JPEG image", _EXPORT),
    (b"GIF8", "a GIF image", _EXPORT),
)
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_PAGE = re.compile(rb"\s*<(?:!doctype\s+html|html|\?xml)\b", re.IGNORECASE)


def check_format(file: TableFile, head: bytes) -> None:
    """Raises, with a remedy, if the first bytes of a text file are those of another format."""
    found = _other_format(file, head[:_HEAD])
    if found is not None:
        what, remedy = found
        raise WrongColumns(f"{file.name} is not a text file in UTF-8: it begins like {what}; {remedy}, or remove it")


def _other_format(file: TableFile, head: bytes) -> tuple[str, str] | None:
    if head.startswith(_UTF16):
        path = shlex.quote(str(file.path))
        return "text in UTF-16", f"convert it: iconv -f UTF-16 -t UTF-8 {path} > utf8.tmp && mv utf8.tmp {path}"
    if head.startswith(b"%PDF-"):
        return "a PDF document", _EXPORT
    if _PAGE.match(head):
        return "a web page or XML", "download or export the table itself"
    if _CONTROL.search(head):
        return next(((what, remedy) for mark, what, remedy in _BINARY if head.startswith(mark)), None)
    return None


def json_remark(file: TableFile, head: bytes) -> str | None:
    """A remark if a file with the ending of CSV holds objects of JSON Lines."""
    first = head.partition(b"\n")[0].strip()
    if not first.startswith(b"{") or json_object(first) is None:
        return None
    return f"{file.name} looks like JSON Lines; if it is, give it the ending .jsonl"


def why_no_objects(head: bytes) -> str:
    """Why a file of JSON Lines has no rows; nothing if it is empty."""
    if head.lstrip().startswith(b"["):
        return "it is one JSON array; write one object per line, as jq -c '.[]' does"
    return "none of its lines is a JSON object" if head.strip() else ""
