"""Messages about uploads: stored parts of a table, and its completion."""

from __future__ import annotations

import msgspec


class Held(msgspec.Struct, frozen=True):
    """The parts of a table that are stored: ranges of numbers, both ends included."""

    ranges: list[tuple[int, int]]
    count: int
    bytes: int
    complete: int | None


class PartReceipt(msgspec.Struct, frozen=True):
    """A stored part. `content` is the SHA-256, and `size` the length, of its body without Content-Encoding;
    `columns` is a digest of Cauce-Columns. `content` is empty for parts that an older version accepted."""

    part: int
    bytes: int
    content: str
    size: int
    form: str
    file: str
    first_line: int
    columns: str


class PartsBody(msgspec.Struct, frozen=True):
    """Parts ordered by number. `next` is the `from` of the next page, null on the last one."""

    parts: list[PartReceipt]
    next: int | None
    complete: int | None


class PartAnswer(msgspec.Struct, frozen=True):
    """`new` is false if the same part was stored before."""

    part: int
    new: bool


class CompleteBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The number of parts of the table."""

    parts: int


class CompleteAnswer(msgspec.Struct, frozen=True):
    """`new` is false if the table was completed before."""

    table: str
    parts: int
    new: bool
