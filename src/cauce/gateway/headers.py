"""What the headers of a part say, checked: its form, its compression, where in which file it stood, its digest."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

import msgspec

from cauce.gateway.errors import UnsupportedFormat
from cauce.gateway.model import PartBody
from cauce.gateway.problems import bad_request
from cauce.wire.http import (
    COLUMNS,
    COMPRESSIONS,
    CONTENT_DIGEST,
    FILE,
    FIRST_LINE,
    PART_FORMS,
    Compression,
    PartForm,
)

_DIGEST = re.compile(r"sha-256=:([A-Za-z0-9+/]{43}=):")
_DICTIONARY = re.compile(r"[a-z*][a-z0-9_.*-]*=:[A-Za-z0-9+/=]*:(;.*)?")
_TEXT_FORMS = ("csv", "ndjson")
_LARGEST = 2**62
_FILE_BYTES = 4096


@dataclass(frozen=True)
class PartHead:
    form: PartForm
    compression: Compression
    file: str
    first_line: int
    columns: tuple[str, ...] | None
    digest: str | None

    def body(self, data: bytes) -> PartBody:
        return PartBody(data, self.form, self.compression, self.file, self.first_line, self.columns, self.digest)


def part_head(headers: Mapping[str, str]) -> PartHead:
    form = _form(headers.get("content-type", ""))
    return PartHead(
        form,
        _compression(headers.get("content-encoding", ""), form),
        _file(headers.get(FILE.lower(), "")),
        _first_line(headers.get(FIRST_LINE.lower())),
        _columns(headers.get(COLUMNS.lower()), form),
        _digest(headers.get(CONTENT_DIGEST.lower())),
    )


def number(text: str, what: str, largest: int = _LARGEST) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) <= largest):
        raise bad_request(f"{what} is to be a whole number of at most {largest:,}, not {text[:40]!r}")
    return int(text)


def _form(content_type: str) -> PartForm:
    media, *parameters = (each.strip().lower() for each in content_type.split(";"))
    if media not in PART_FORMS:
        raise UnsupportedFormat(f"a part cannot be {media[:80]!r}; its Content-Type can be {', '.join(PART_FORMS)}")
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "charset" and value.strip('" ') not in ("utf-8", "utf8", "us-ascii"):
            raise UnsupportedFormat("a part's text is to be UTF-8; convert it before sending it")
    return PART_FORMS[media]


def _compression(encoding: str, form: PartForm) -> Compression:
    named = encoding.strip().lower()
    if named not in COMPRESSIONS:
        raise UnsupportedFormat(f"Content-Encoding cannot be {named[:80]!r}; it can be gzip or zstd")
    compression = COMPRESSIONS[named]
    if compression and form not in _TEXT_FORMS:
        raise UnsupportedFormat("only CSV and NDJSON may have a Content-Encoding; the other forms compress within")
    return compression


def _file(quoted: str) -> str:
    if len(quoted) > _FILE_BYTES:
        raise bad_request(f"{FILE} may have {_FILE_BYTES:,} bytes")
    name = _text(quoted, FILE)
    if any(ord(letter) < 32 or ord(letter) == 127 for letter in name):
        raise bad_request(f"{FILE} holds control characters; give the file's name alone")
    return name


def _first_line(text: str | None) -> int:
    return 0 if text is None else number(text, FIRST_LINE)


def _columns(quoted: str | None, form: PartForm) -> tuple[str, ...] | None:
    if quoted is None:
        return None
    if form != "csv":
        raise bad_request(f"{COLUMNS} is for CSV without a header line; leave it out")
    try:
        return msgspec.json.decode(_text(quoted, COLUMNS), type=tuple[str, ...])
    except (msgspec.MsgspecError, RecursionError):
        raise bad_request(f"{COLUMNS} is to be a JSON array of texts, percent-encoded") from None


def _text(quoted: str, name: str) -> str:
    try:
        return unquote_to_bytes(quoted).decode()
    except UnicodeDecodeError:
        raise bad_request(f"{name} is no UTF-8 once its percent signs are decoded") from None


def _digest(text: str | None) -> str | None:
    """The SHA-256 in hex of a Content-Digest (RFC 9530); digests of other kinds are passed over."""
    if text is None:
        return None
    found = None
    for member in (each.strip() for each in text.split(",")):
        match = _DIGEST.fullmatch(member)
        if match is None:
            if member.startswith("sha-256=") or not _DICTIONARY.fullmatch(member):
                raise bad_request(f"{CONTENT_DIGEST} is to be sha-256=:BASE64: of the body as it is sent")
            continue
        try:
            found = base64.b64decode(match[1], validate=True).hex()
        except binascii.Error:
            raise bad_request(f"{CONTENT_DIGEST} is to be sha-256=:BASE64: of the body as it is sent") from None
    return found
