"""Parses and validates the headers of a part: form, compression, position in its file, digest."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from urllib.parse import unquote_to_bytes

import msgspec

from cauce.api.http import (
    COLUMNS,
    COMPRESSIONS,
    CONTENT_DIGEST,
    FILE,
    FIRST_LINE,
    REFERENCE,
    Compression,
)
from cauce.gateway.asgi.problems import bad_request
from cauce.gateway.errors import UnsupportedFormat
from cauce.gateway.model import PartBody
from cauce.gateway.validation.part_body import REFERENCE_FORM
from cauce.scan.formats.table import format_named, format_sent_as, media_types

_DIGEST = re.compile(r"sha-256=:([A-Za-z0-9+/]{43}=):")
_DICTIONARY = re.compile(r"[a-z*][a-z0-9_.*-]*=:[A-Za-z0-9+/=]*:(;.*)?")
_MAX_NUMBER = 2**62
_MAX_FILE_BYTES = 4096


def part_of_headers(headers: Mapping[str, str]) -> PartBody:
    """The part that the headers of a request describe, without its bytes: an invalid one is refused before they are
    read."""
    form = _form(headers.get("content-type", ""))
    return PartBody(
        b"",
        form,
        _compression(headers.get("content-encoding", ""), form),
        _file(headers.get(FILE.lower(), "")),
        _first_line(headers.get(FIRST_LINE.lower())),
        _columns(headers.get(COLUMNS.lower()), form),
        _digest(headers.get(CONTENT_DIGEST.lower())),
    )


def number(text: str, what: str, most: int = _MAX_NUMBER, *, least: int = 0) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 20 and least <= int(text) <= most):
        raise bad_request(f"{what} must be a whole number from {least} to {most:,}, not {text[:40]!r}")
    return int(text)


def _form(content_type: str) -> str:
    media, *parameters = (each.strip().lower() for each in content_type.split(";"))
    accepted = [*media_types(), REFERENCE]
    if media not in accepted:
        raise UnsupportedFormat(f"unsupported Content-Type {media[:80]!r}; expected one of {', '.join(accepted)}")
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "charset" and value.strip('" ') not in ("utf-8", "utf8", "us-ascii"):
            raise UnsupportedFormat("the text of a part must be UTF-8; convert it before sending it")
    return REFERENCE_FORM if media == REFERENCE else format_sent_as(media).name


def _compression(encoding: str, form: str) -> Compression:
    named = encoding.strip().lower()
    if named not in COMPRESSIONS:
        raise UnsupportedFormat(f"unsupported Content-Encoding {named[:80]!r}; expected gzip or zstd")
    compression = COMPRESSIONS[named]
    if compression and (form == REFERENCE_FORM or not format_named(form).compressible):
        raise UnsupportedFormat("Content-Encoding is only allowed for text; send other forms without it")
    return compression


def _file(quoted: str) -> str:
    if len(quoted) > _MAX_FILE_BYTES:
        raise bad_request(f"{FILE} must be at most {_MAX_FILE_BYTES:,} bytes long")
    name = _text(quoted, FILE)
    if any(ord(letter) < 32 or ord(letter) == 127 for letter in name):
        raise bad_request(f"{FILE} contains control characters; send only the name of the file")
    return name


def _first_line(text: str | None) -> int:
    return 0 if text is None else number(text, FIRST_LINE)


def _columns(quoted: str | None, form: str) -> tuple[str, ...] | None:
    if quoted is None:
        return None
    if form == REFERENCE_FORM or not format_named(form).has_header_line:
        raise bad_request(f"{COLUMNS} is only allowed for CSV without a header line; leave it out")
    try:
        return msgspec.json.decode(_text(quoted, COLUMNS), type=tuple[str, ...])
    except (msgspec.MsgspecError, RecursionError):
        raise bad_request(f"{COLUMNS} must be a JSON array of strings, percent-encoded") from None


def _text(quoted: str, name: str) -> str:
    try:
        return unquote_to_bytes(quoted).decode()
    except UnicodeDecodeError:
        raise bad_request(f"{name} is not valid UTF-8 after percent-decoding") from None


def _digest(text: str | None) -> str | None:
    """The SHA-256 in hex of a Content-Digest (RFC 9530); other digest algorithms are ignored."""
    if text is None:
        return None
    found = None
    for member in (each.strip() for each in text.split(",")):
        match = _DIGEST.fullmatch(member)
        if match is None:
            if member.startswith("sha-256=") or not _DICTIONARY.fullmatch(member):
                raise bad_request(f"{CONTENT_DIGEST} must be sha-256=:BASE64: of the body as sent")
            continue
        try:
            found = base64.b64decode(match[1], validate=True).hex()
        except binascii.Error:
            raise bad_request(f"{CONTENT_DIGEST} must be sha-256=:BASE64: of the body as sent") from None
    return found
