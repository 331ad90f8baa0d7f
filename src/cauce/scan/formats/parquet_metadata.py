"""Parses the metadata of untrusted Parquet files (Thrift compact protocol) before anything is decoded.

Invalid input raises ValueError. Memory is never allocated by sizes that the bytes declare.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

MAX_FOOTER_BYTES = 1 << 20
_MAX_NESTING = 16
_MAGIC = b"PAR1"
_TAIL_BYTES = 8

_STOP, _TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(13)
_INTEGERS = (_I16, _I32, _I64)

Struct = dict[int, object]
_UNCHANGED = b"unchanged"


def zigzag(number: int) -> bytes:
    """A signed integer as the protocol encodes it."""
    return _varint(number << 1 if number >= 0 else (-number << 1) - 1)


def _varint(left: int) -> bytes:
    made = bytearray()
    while left >= 0x80:
        made.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*made, left])


def list_of_structs(structs: Sequence[bytes]) -> bytes:
    count = len(structs)
    head = bytes([count << 4 | _STRUCT]) if count < 15 else bytes([15 << 4 | _STRUCT]) + _varint(count)
    return head + b"".join(structs)


Edit = bytes | Callable[["ThriftReader"], bytes] | None
"""What a field becomes: these bytes, what the function makes of it while it reads it, or nothing (None)."""


class ThriftReader:
    """Reads values one after the other, from the offset `at` on."""

    def __init__(self, data: memoryview, at: int, end: int) -> None:
        self._data = data
        self.at = at
        self._end = end

    def byte(self) -> int:
        if self.at >= self._end:
            raise ValueError("has truncated metadata")
        self.at += 1
        return self._data[self.at - 1]

    def varint(self) -> int:
        found = shift = 0
        while True:
            byte = self.byte()
            found |= (byte & 0x7F) << shift
            if byte < 0x80:
                return found
            shift += 7
            if shift > 63:
                raise ValueError("has an integer of more than 64 bits in its metadata")

    def integer(self) -> int:
        found = self.varint()
        return (found >> 1) ^ -(found & 1)

    def skip(self, count: int) -> object:
        if count > self._end - self.at:
            raise ValueError("has truncated metadata")
        self.at += count
        return None

    def struct(self, depth: int = 0) -> Struct:
        """Integers, structs and lists by field number; strings are skipped."""
        found: Struct = {}
        field = 0
        while (head := self.byte()) != _STOP:
            field = field + (head >> 4) if head >> 4 else self.integer()
            found[field] = self.value(head & 0x0F, depth)
        return found

    def rewritten(self, edits: Mapping[int, Edit]) -> bytes:
        """The bytes of a struct with some of its fields changed."""
        made = bytearray()
        field = last = 0
        while (head := self.byte()) != _STOP:
            field, kind, start = field + (head >> 4) if head >> 4 else self.integer(), head & 0x0F, self.at
            edit = edits.get(field, _UNCHANGED)
            changed = edit(self) if callable(edit) else edit
            if self.at == start:
                self.value(kind, 0)
            if changed is None:
                continue
            delta = field - last
            made += bytes([delta << 4 | kind]) if 0 < delta < 16 else bytes([kind]) + zigzag(field)
            made += self._data[start : self.at] if changed is _UNCHANGED else changed
            last = field
        return bytes(made) + bytes([_STOP])

    def list_head(self) -> int:
        """The number of elements of a list."""
        head = self.byte()
        return head >> 4 if head >> 4 < 15 else self.varint()

    def value(self, kind: int, depth: int, *, in_list: bool = False) -> object:
        if depth > _MAX_NESTING:
            raise ValueError("has metadata nested too deeply")
        if kind in (_TRUE, _FALSE):
            return self.byte() if in_list else kind == _TRUE
        if kind == _BYTE:
            return self.byte()
        if kind in _INTEGERS:
            return self.integer()
        if kind == _DOUBLE:
            return self.skip(8)
        if kind == _BINARY:
            return self.skip(self.varint())
        if kind in (_LIST, _SET):
            return self.list(depth)
        if kind == _STRUCT:
            return self.struct(depth + 1)
        if kind == _MAP:
            return self.map(depth)
        raise ValueError("has metadata of an unknown type")

    def list(self, depth: int) -> list[object]:
        head = self._data[self.at] if self.at < self._end else 0
        count = self.list_head()
        # Each element takes at least one byte.
        if count > self._end - self.at:
            raise ValueError("has truncated metadata")
        return [self.value(head & 0x0F, depth + 1, in_list=True) for _ in range(count)]

    def map(self, depth: int) -> object:
        count = self.varint()
        if not count:
            return None
        kinds = self.byte()
        if count > self._end - self.at:
            raise ValueError("has truncated metadata")
        for _ in range(count):
            self.value(kinds >> 4, depth + 1, in_list=True)
            self.value(kinds & 0x0F, depth + 1, in_list=True)
        return None


@dataclass(frozen=True)
class Leaf:
    """A leaf column. `width` is the bytes per value of a fixed-length type, else 0."""

    is_text: bool
    width: int


@dataclass(frozen=True)
class Chunk:
    """The byte range of the pages of a column in one row group."""

    leaf: Leaf
    start: int
    end: int


@dataclass(frozen=True)
class Footer:
    rows: int
    depth: int
    leaves: tuple[Leaf, ...]
    chunks: tuple[Chunk, ...]


def footer_of(data: bytes) -> Footer:
    if len(data) < len(_MAGIC) + _TAIL_BYTES or data[:4] != _MAGIC or data[-4:] != _MAGIC:
        raise ValueError("is not a Parquet file")
    length = int.from_bytes(data[-_TAIL_BYTES:-4], "little")
    end = len(data) - _TAIL_BYTES
    if length > end - len(_MAGIC):
        raise ValueError("has a footer longer than the file")
    if length > MAX_FOOTER_BYTES:
        raise ValueError(f"has a footer of more than {MAX_FOOTER_BYTES} bytes")
    found = ThriftReader(memoryview(data), end - length, end).struct()
    elements = [_struct(each) for each in _list(found.get(2))]
    leaves = tuple(_leaf(each) for each in elements[1:] if not _integer(each.get(5, 0)))
    chunks: list[Chunk] = []
    rows = 0
    for group in map(_struct, _list(found.get(4, []))):
        columns = _list(group.get(1))
        if len(columns) != len(leaves):
            raise ValueError("has a row group whose columns differ from the schema")
        rows += _positive(group.get(3))
        chunks += [_chunk(leaf, _struct(each), len(data)) for leaf, each in zip(leaves, columns, strict=True)]
    return Footer(max(rows, _positive(found.get(3))), _depth(elements), leaves, tuple(chunks))


_BYTE_ARRAY, _FIXED_BYTE_ARRAY, _DECIMAL = 6, 7, 5


def _leaf(element: Struct) -> Leaf:
    kind = _integer(element.get(1))
    is_decimal = element.get(6) == _DECIMAL or _DECIMAL in _struct(element.get(10))
    width = _positive(element.get(2, 0)) if kind == _FIXED_BYTE_ARRAY else 0
    return Leaf(kind == _BYTE_ARRAY and not is_decimal, width)


def _chunk(leaf: Leaf, column: Struct, size: int) -> Chunk:
    meta = _struct(column.get(3))
    start = _positive(meta.get(9))
    dictionary = _integer(meta.get(11, 0))
    if 0 < dictionary < start:
        start = dictionary
    end = start + _positive(meta.get(7))
    if end > size:
        raise ValueError("has a column chunk outside the file")
    return Chunk(leaf, start, end)


def _depth(elements: list[Struct]) -> int:
    """The nesting depth of schema elements, which are listed depth first with their number of children."""
    left: list[int] = []
    deepest = 0
    for element in elements:
        while left and not left[-1]:
            left.pop()
        if left:
            left[-1] -= 1
        children = _positive(element.get(5, 0))
        if children:
            left.append(children)
        deepest = max(deepest, len(left))
    return deepest


@dataclass(frozen=True)
class Page:
    """A page header. `end` is the offset behind it, where the compressed data start."""

    kind: int
    size: int
    compressed: int
    values: int
    encoding: int
    end: int


def page_header(data: memoryview, at: int, end: int) -> Page:
    reader = ThriftReader(data, at, end)
    found = reader.struct()
    plain, dictionary, second = (_struct(found.get(field)) for field in (5, 7, 8))
    head = plain or dictionary or second
    encoding = second.get(4, 0) if second and not plain else head.get(2, 0)
    sizes = _integer(found.get(2)), _integer(found.get(3))
    return Page(_integer(found.get(1, 0)), *sizes, _integer(head.get(1, 0)), _integer(encoding), reader.at)


def _struct(value: object) -> Struct:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise ValueError("has metadata without a required list")
    return value


def _integer(value: object) -> int:
    if not isinstance(value, int):
        raise ValueError("has metadata without a required number")
    return value


def _positive(value: object) -> int:
    if _integer(value) < 0:
        raise ValueError("has a negative number in its metadata where none is allowed")
    return _integer(value)
