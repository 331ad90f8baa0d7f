"""Just enough of Thrift's compact protocol to know what a Parquet file says of itself before it is decoded.

Everything that cannot be raises ValueError; nothing here allocates by what the bytes claim.
"""

from __future__ import annotations

from dataclasses import dataclass

MOST_FOOTER_BYTES = 1 << 20
_MOST_NESTING = 16
_MAGIC = b"PAR1"
_TAIL_BYTES = 8

_STOP, _TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(13)
_INTEGERS = (_I16, _I32, _I64)

Struct = dict[int, object]


class _Reader:
    def __init__(self, data: memoryview, at: int, end: int) -> None:
        self._data = data
        self.at = at
        self._end = end

    def byte(self) -> int:
        if self.at >= self._end:
            raise ValueError("has metadata that are cut off")
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
                raise ValueError("has a number without end in its metadata")

    def integer(self) -> int:
        found = self.varint()
        return (found >> 1) ^ -(found & 1)

    def skip(self, count: int) -> object:
        if count > self._end - self.at:
            raise ValueError("has metadata that are cut off")
        self.at += count
        return None

    def struct(self, depth: int = 0) -> Struct:
        """Numbers, structs and lists by field; texts are passed over."""
        found: Struct = {}
        field = 0
        while (head := self.byte()) != _STOP:
            field = field + (head >> 4) if head >> 4 else self.integer()
            found[field] = self.value(head & 0x0F, depth)
        return found

    def value(self, kind: int, depth: int, *, in_list: bool = False) -> object:
        if depth > _MOST_NESTING:
            raise ValueError("has metadata nested too deep")
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
        raise ValueError("has metadata of an unknown kind")

    def list(self, depth: int) -> list[object]:
        head = self.byte()
        count = head >> 4 if head >> 4 < 15 else self.varint()
        # Each element takes a byte at least.
        if count > self._end - self.at:
            raise ValueError("has metadata that are cut off")
        return [self.value(head & 0x0F, depth + 1, in_list=True) for _ in range(count)]

    def map(self, depth: int) -> object:
        count = self.varint()
        if not count:
            return None
        kinds = self.byte()
        if count > self._end - self.at:
            raise ValueError("has metadata that are cut off")
        for _ in range(count):
            self.value(kinds >> 4, depth + 1, in_list=True)
            self.value(kinds & 0x0F, depth + 1, in_list=True)
        return None


@dataclass(frozen=True)
class Footer:
    depth: int


def footer_of(data: bytes) -> Footer:
    if len(data) < len(_MAGIC) + _TAIL_BYTES or data[:4] != _MAGIC or data[-4:] != _MAGIC:
        raise ValueError("is no Parquet file")
    length = int.from_bytes(data[-_TAIL_BYTES:-4], "little")
    end = len(data) - _TAIL_BYTES
    if length > end - len(_MAGIC):
        raise ValueError("has a footer longer than itself")
    if length > MOST_FOOTER_BYTES:
        raise ValueError(f"has a footer of more than {MOST_FOOTER_BYTES} bytes")
    elements = _Reader(memoryview(data), end - length, end).struct().get(2)
    if not isinstance(elements, list):
        raise ValueError("has no schema")
    return Footer(_depth(elements))


def _depth(elements: list[object]) -> int:
    """How deep the elements, listed depth first with the number of their children, are nested."""
    left: list[int] = []
    deepest = 0
    for element in elements:
        children = element.get(5, 0) if isinstance(element, dict) else 0
        while left and not left[-1]:
            left.pop()
        if left:
            left[-1] -= 1
        if isinstance(children, int) and children > 0:
            left.append(children)
        deepest = max(deepest, len(left))
    return deepest


@dataclass(frozen=True)
class Page:
    """`end` is where its header ends, and what is compressed begins."""

    size: int
    compressed: int
    values: int
    encoding: int
    end: int


def page_header(data: memoryview, at: int, end: int) -> Page:
    reader = _Reader(data, at, end)
    found = reader.struct()
    plain, dictionary, second = (_struct(found.get(field)) for field in (5, 7, 8))
    head = plain or dictionary or second
    encoding = second.get(4, 0) if second and not plain else head.get(2, 0)
    return Page(_integer(found.get(2)), _integer(found.get(3)), _integer(head.get(1, 0)), _integer(encoding), reader.at)


def _struct(value: object) -> Struct:
    return value if isinstance(value, dict) else {}


def _integer(value: object) -> int:
    if not isinstance(value, int):
        raise ValueError("has a page without sizes")
    return value
