"""Foreign Arrow and Parquet bytes, looked at before anything else touches them.

Two dangers: bytes that are not what they say, which crash a library that trusts them, and few bytes that become many
(compression, run lengths, dictionaries, views), which take all memory. So sizes are added up from what the bytes say
of themselves before they are decoded, and all is validated in full before any other library sees it. Everything here
raises ValueError, or what Arrow raises.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyarrow import types

from cauce.gateway.thrift import Footer, footer_of, page_header
from cauce.scan.parts import open_parquet

_MOST_DEPTH = 16
"""How deep the columns of a file may be nested."""

_RECORD_BATCH, _DICTIONARY_BATCH = 3, 2
_WORD = 8
_VALUES_PER_ROW = 16
_DELTA_BYTE_ARRAY = 7
"""An encoding in which each text may repeat the one before it: no bound is known before it is decoded."""


@dataclass(frozen=True)
class Bounds:
    """What a part may hold when it is decoded."""

    bytes: int
    rows: int


class TooMuch(ValueError):
    """More than the bounds allow."""


def check_arrow(data: bytes, headers: Sequence[str], bounds: Bounds) -> list[str]:
    """Reads an Arrow stream through; returns its columns' names. `headers` are the columns that will be used."""
    _check_messages(data, bounds)
    rows = weight = 0
    with pa.ipc.open_stream(data) as stream:
        names: list[str] = stream.schema.names
        _check_fields(stream.schema, names)
        used = [header for header in headers if names.count(header) == 1]
        for batch in stream:
            rows += batch.num_rows
            if rows > bounds.rows:
                raise TooMuch(f"has more than {bounds.rows} rows")
            batch.validate()
            _check_weight(sum(_viewed_bytes(column) for column in batch.columns), bounds)
            batch.validate(full=True)
            weight += sum(weigh(batch.column(header)) for header in used)
            _check_weight(weight, bounds)
    return names


def _check_weight(weight: int, bounds: Bounds) -> None:
    if weight > bounds.bytes:
        raise TooMuch(f"holds more than {bounds.bytes} bytes")


def _check_fields(schema: pa.Schema, names: Iterable[str]) -> None:
    _check_metadata(schema.metadata)
    for name, field in zip(names, schema, strict=True):
        _check_metadata(field.metadata)
        if _depth(field.type) > _MOST_DEPTH:
            raise ValueError(f"nests column {name[:80]} deeper than {_MOST_DEPTH}")


def _depth(kind: pa.DataType, at: int = 0) -> int:
    if at > _MOST_DEPTH:
        return at
    if types.is_dictionary(kind):
        return _depth(kind.value_type, at + 1)
    fields = [kind.field(each) for each in range(kind.num_fields)]
    for field in fields:
        _check_text(field.name)
        _check_metadata(field.metadata)
    if types.is_timestamp(kind):
        _check_text(kind.tz or "")
    return max((_depth(field.type, at + 1) for field in fields), default=at)


def _check_text(name: str) -> None:
    """Arrow does not look whether names are text, and Polars panics where they are none."""
    name.encode()


def _check_metadata(metadata: Mapping[bytes, bytes] | None) -> None:
    for key, value in (metadata or {}).items():
        key.decode()
        value.decode()


def _check_messages(data: bytes, bounds: Bounds) -> None:
    """Adds up what compressed buffers say they will become, before anything is decompressed."""
    total = 0
    for message in pa.ipc.MessageReader.open_stream(data):
        if message.body is None:
            continue
        total += _decoded_bytes(memoryview(message.metadata), memoryview(message.body))
        _check_weight(total, bounds)


def _decoded_bytes(meta: memoryview, body: memoryview) -> int:
    try:
        message = _Flat(meta, *struct.unpack_from("<I", meta, 0))
        kind = message.byte(1)
        batch = message.table(2)
        if kind == _DICTIONARY_BATCH and batch is not None:
            batch = batch.table(1)
        elif kind != _RECORD_BATCH:
            return len(body)
        if batch is None or batch.table(3) is None:
            return len(body)
        total = 0
        for offset, length in batch.buffers(2):
            if length >= _WORD:
                (size,) = struct.unpack_from("<q", body, offset)
                total += length if size < 0 else size
        return total
    except struct.error as problem:
        raise ValueError(f"has a message that cannot be read: {problem}") from problem


class _Flat:
    """A table of a flatbuffer. Arrow has verified its bounds; whatever lies outside raises struct.error."""

    def __init__(self, data: memoryview, at: int) -> None:
        self._data = data
        self._at = at
        (back,) = struct.unpack_from("<i", data, at)
        self._vtable = at - back
        if self._vtable < 0:
            raise struct.error("a table without a start")
        (self._vtable_bytes,) = struct.unpack_from("<H", data, self._vtable)

    def _field(self, number: int) -> int | None:
        slot = 4 + 2 * number
        if slot + 2 > self._vtable_bytes:
            return None
        (offset,) = struct.unpack_from("<H", self._data, self._vtable + slot)
        return self._at + offset if offset else None

    def byte(self, number: int) -> int:
        at = self._field(number)
        return 0 if at is None else int(struct.unpack_from("<B", self._data, at)[0])

    def table(self, number: int) -> _Flat | None:
        at = self._field(number)
        return None if at is None else _Flat(self._data, at + struct.unpack_from("<I", self._data, at)[0])

    def buffers(self, number: int) -> list[tuple[int, int]]:
        """A vector of (offset, length) pairs."""
        at = self._field(number)
        if at is None:
            return []
        at += struct.unpack_from("<I", self._data, at)[0]
        (count,) = struct.unpack_from("<I", self._data, at)
        if count * 2 * _WORD > len(self._data):
            raise struct.error("a vector longer than its message")
        pairs = struct.unpack_from(f"<{2 * count}q", self._data, at + 4)
        if any(number < 0 for number in pairs):
            raise struct.error("a negative length")
        return list(zip(pairs[::2], pairs[1::2], strict=True))


def check_parquet(data: bytes, headers: Sequence[str], bounds: Bounds) -> list[str]:
    """The same for a Parquet file.

    What Arrow knows of a file's metadata is not asked for: some of its answers end the process where they do not fit.
    """
    footer = footer_of(data)
    if footer.depth > _MOST_DEPTH:
        raise ValueError(f"nests its columns deeper than {_MOST_DEPTH}")
    if footer.rows > bounds.rows:
        raise TooMuch(f"has more than {bounds.rows} rows")
    _check_pages(data, footer, bounds)
    # Texts are read as numbers into a dictionary: few bytes can stand for any number of long texts.
    texts = [number for number, leaf in enumerate(footer.leaves) if leaf.is_text]
    with open_parquet(data, read_dictionary=texts) as file:
        schema = file.schema_arrow
        names: list[str] = schema.names
        _check_fields(schema, names)
        used = [header for header in headers if names.count(header) == 1]
        table = file.read(columns=used, use_threads=False)
    table.validate(full=True)
    _check_weight(sum(weigh(chunk) for column in table.columns for chunk in column.chunks), bounds)
    # Now that it is known to be little, as the workers will read it.
    with open_parquet(data) as file:
        file.read(columns=used, use_threads=False).validate(full=True)
    return names


def _check_pages(data: bytes, footer: Footer, bounds: Bounds) -> None:
    """Adds up what pages say they will become. The footer may say anything; the pages are what is decoded."""
    size = values = 0
    view = memoryview(data)
    for chunk in footer.chunks:
        at = chunk.start
        while at < chunk.end:
            page = page_header(view, at, chunk.end)
            at = page.end + page.compressed
            if at > chunk.end:
                raise ValueError("has a page outside of its column")
            if page.encoding == _DELTA_BYTE_ARRAY:
                raise ValueError("has texts in the encoding DELTA_BYTE_ARRAY: write them plain or by dictionary")
            size += page.size + chunk.leaf.width * page.values
            values += page.values
            _check_weight(size, bounds)
            if values > bounds.rows * _VALUES_PER_ROW:
                raise TooMuch(f"has more than {bounds.rows * _VALUES_PER_ROW} values")


def weigh(array: pa.Array) -> int:
    """The bytes of the values when each stands for itself; raises for types that are not taken."""
    kind = array.type
    if types.is_null(kind) or types.is_primitive(kind) or types.is_boolean(kind) or types.is_decimal(kind):
        return len(array) * _WORD
    if types.is_fixed_size_binary(kind):
        return len(array) * int(kind.byte_width)
    if _is_text(kind):
        return len(array) * _WORD + int(_lengths(array).sum())
    if types.is_dictionary(kind):
        return _weigh_dictionary(array)
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return len(array) * _WORD + weigh(array.flatten())
    if types.is_struct(kind):
        return len(array) + sum(weigh(array.field(each)) for each in range(kind.num_fields))
    raise ValueError(f"has a column of type {str(kind)[:80]}: send texts, numbers, dates, or lists of them")


def _viewed_bytes(array: pa.Array) -> int:
    """What views refer to, each on its own: even to validate them takes the time to read all that. Looks at buffers
    only, since nothing is known to be good yet."""
    kind = array.type
    if types.is_string_view(kind) or types.is_binary_view(kind):
        held = array.buffers()[1]
        return 0 if held is None else int(np.frombuffer(held, np.int32)[:: 16 // 4].astype(np.int64).clip(0).sum())
    if types.is_dictionary(kind):
        return _viewed_bytes(array.dictionary)
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind) or types.is_map(kind):
        return _viewed_bytes(array.values)
    if types.is_struct(kind):
        return sum(_viewed_bytes(array.field(each)) for each in range(kind.num_fields))
    if kind.num_fields:
        raise ValueError(f"has a column of type {str(kind)[:80]}: send texts, numbers, dates, or lists of them")
    return 0


def _is_text(kind: pa.DataType) -> bool:
    plain = types.is_string(kind) or types.is_large_string(kind) or types.is_binary(kind) or types.is_large_binary(kind)
    return bool(plain or types.is_string_view(kind) or types.is_binary_view(kind))


def _lengths(array: pa.Array) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Of each text; 0 where there is none."""
    if not len(array):
        return np.zeros(0, np.int64)
    kind = array.type
    if types.is_string_view(kind) or types.is_binary_view(kind):
        views = np.frombuffer(array.buffers()[1], np.int32)[:: 16 // 4]
        found = views[array.offset : array.offset + len(array)].astype(np.int64)
    else:
        wide = types.is_large_string(kind) or types.is_large_binary(kind)
        offsets = np.frombuffer(array.buffers()[1], np.int64 if wide else np.int32)
        found = np.diff(offsets[array.offset : array.offset + len(array) + 1]).astype(np.int64)
    if array.null_count:
        found[array.is_null().to_numpy(zero_copy_only=False)] = 0
    return found


def _weigh_dictionary(array: pa.DictionaryArray) -> int:
    values, indices = array.dictionary, array.indices
    if not _is_text(values.type):
        weigh(values)
        if values.type.num_fields or types.is_dictionary(values.type):
            raise ValueError(f"has a dictionary of {str(values.type)[:80]}: send such a column plain")
        return len(array) * max(_WORD, 16)
    if not len(values):
        return len(array) * _WORD
    at = indices.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    return len(array) * _WORD + int(_lengths(values)[at].sum())
