"""Validates untrusted Arrow and Parquet bytes before any other code reads them.

Malformed bytes can crash a library that trusts them, and a few bytes can expand without limit (compression, run
lengths, dictionaries, views). So declared sizes are summed up before decoding, and everything is fully validated before
another library sees it. Functions raise ValueError or an Arrow error.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa
from pyarrow import types

from cauce.scan.formats.parquet import open_upload
from cauce.scan.formats.parquet_metadata import Footer, footer_of, page_header
from cauce.scan.formats.upload_check import Bounds, LimitExceeded

_MAX_DEPTH = 16
"""Nesting limit of columns."""

_RECORD_BATCH, _DICTIONARY_BATCH = 3, 2
_WORD = 8
_VALUES_PER_ROW = 16
_DELTA_BYTE_ARRAY = 7
"""An encoding in which each string may repeat the previous one: its decoded size has no bound in advance."""


def check_arrow(data: bytes, headers: Sequence[str], bounds: Bounds) -> list[str]:
    """Validates an Arrow stream and returns its column names. `headers` are the columns that will be used."""
    _check_messages(data, bounds)
    rows = size = 0
    with pa.ipc.open_stream(data) as stream:
        names: list[str] = stream.schema.names
        _check_fields(stream.schema, names)
        used = [header for header in headers if names.count(header) == 1]
        for batch in stream:
            rows += batch.num_rows
            if rows > bounds.rows:
                raise LimitExceeded(f"has more than {bounds.rows} rows")
            batch.validate()
            _check_size(sum(_bytes_of_views(column) for column in batch.columns), bounds)
            batch.validate(full=True)
            size += sum(decoded_size(batch.column(header)) for header in used)
            _check_size(size, bounds)
    return names


def _check_size(size: int, bounds: Bounds) -> None:
    if size > bounds.bytes:
        raise LimitExceeded(f"decodes to more than {bounds.bytes} bytes")


def _check_fields(schema: pa.Schema, names: Iterable[str]) -> None:
    _check_metadata(schema.metadata)
    for name, field in zip(names, schema, strict=True):
        _check_metadata(field.metadata)
        if _depth(field.type) > _MAX_DEPTH:
            raise ValueError(f"nests column {name[:80]} more than {_MAX_DEPTH} levels deep")


def _depth(kind: pa.DataType, at: int = 0) -> int:
    if at > _MAX_DEPTH:
        return at
    if types.is_dictionary(kind):
        return _depth(kind.value_type, at + 1)
    fields = [kind.field(each) for each in range(kind.num_fields)]
    for field in fields:
        _check_unicode(field.name)
        _check_metadata(field.metadata)
    if types.is_timestamp(kind):
        _check_unicode(kind.tz or "")
    return max((_depth(field.type, at + 1) for field in fields), default=at)


def _check_unicode(name: str) -> None:
    """Arrow does not check that names are valid Unicode, and Polars panics on invalid ones."""
    name.encode()


def _check_metadata(metadata: Mapping[bytes, bytes] | None) -> None:
    for key, value in (metadata or {}).items():
        key.decode()
        value.decode()


def _check_messages(data: bytes, bounds: Bounds) -> None:
    """Sums up the declared sizes of compressed buffers before anything is decompressed."""
    total = 0
    for message in pa.ipc.MessageReader.open_stream(data):
        if message.body is None:
            continue
        total += _decoded_bytes(memoryview(message.metadata), memoryview(message.body))
        _check_size(total, bounds)


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
    """A table of a flatbuffer. Arrow has verified its bounds; reads outside of them raise struct.error."""

    def __init__(self, data: memoryview, at: int) -> None:
        self._data = data
        self._at = at
        (back,) = struct.unpack_from("<i", data, at)
        self._vtable = at - back
        if self._vtable < 0:
            raise struct.error("a table that starts before its message")
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
    """Validates a Parquet file and returns its column names.

    Arrow's metadata accessors are not used: some of them abort the process on inconsistent metadata.
    """
    footer = footer_of(data)
    if footer.depth > _MAX_DEPTH:
        raise ValueError(f"nests its columns more than {_MAX_DEPTH} levels deep")
    if footer.rows > bounds.rows:
        raise LimitExceeded(f"has more than {bounds.rows} rows")
    _check_pages(data, footer, bounds)
    # Strings are read dictionary-encoded: a few bytes can stand for any number of long strings.
    string_columns = [number for number, leaf in enumerate(footer.leaves) if leaf.is_text]
    with open_upload(data, read_dictionary=string_columns) as file:
        schema = file.schema_arrow
        names: list[str] = schema.names
        _check_fields(schema, names)
        used = [header for header in headers if names.count(header) == 1]
        table = file.read(columns=used, use_threads=False)
    table.validate(full=True)
    _check_size(sum(decoded_size(chunk) for column in table.columns for chunk in column.chunks), bounds)
    # The decoded size is now known to be within bounds: read it as the workers will.
    with open_upload(data) as file:
        file.read(columns=used, use_threads=False).validate(full=True)
    return names


def _check_pages(data: bytes, footer: Footer, bounds: Bounds) -> None:
    """Sums up the declared sizes of pages. The footer is not trusted: pages are what gets decoded."""
    size = values = 0
    view = memoryview(data)
    for chunk in footer.chunks:
        at = chunk.start
        while at < chunk.end:
            page = page_header(view, at, chunk.end)
            at = page.end + page.compressed
            if at > chunk.end:
                raise ValueError("has a page that ends outside its column chunk")
            if page.encoding == _DELTA_BYTE_ARRAY:
                raise ValueError(
                    "has strings in the encoding DELTA_BYTE_ARRAY: write them with plain or dictionary encoding"
                )
            size += page.size + chunk.leaf.width * page.values
            values += page.values
            _check_size(size, bounds)
            if values > bounds.rows * _VALUES_PER_ROW:
                raise LimitExceeded(f"has more than {bounds.rows * _VALUES_PER_ROW} values")


def decoded_size(array: pa.Array) -> int:
    """The size of the values without dictionaries and sharing. Raises ValueError for unsupported types."""
    kind = array.type
    if types.is_null(kind) or types.is_primitive(kind) or types.is_boolean(kind) or types.is_decimal(kind):
        return len(array) * _WORD
    if types.is_fixed_size_binary(kind):
        return len(array) * int(kind.byte_width)
    if _is_text(kind):
        return len(array) * _WORD + int(_lengths(array).sum())
    if types.is_dictionary(kind):
        return _decoded_dictionary_size(array)
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return len(array) * _WORD + decoded_size(array.flatten())
    if types.is_map(kind):
        return len(array) * _WORD + decoded_size(array.keys) + decoded_size(array.items)
    if types.is_struct(kind):
        return len(array) + sum(decoded_size(array.field(each)) for each in range(kind.num_fields))
    raise ValueError(
        f"has a column of unsupported type {str(kind)[:80]}: send strings, numbers, dates, or lists of them"
    )


def _bytes_of_views(array: pa.Array) -> int:
    """The bytes that views refer to, counted once per view: even validating them reads all of that. Uses raw buffers
    only, since nothing is validated yet."""
    kind = array.type
    if types.is_string_view(kind) or types.is_binary_view(kind):
        held = array.buffers()[1]
        return 0 if held is None else int(np.frombuffer(held, np.int32)[:: 16 // 4].astype(np.int64).clip(0).sum())
    if types.is_dictionary(kind):
        return _bytes_of_views(array.dictionary)
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind) or types.is_map(kind):
        return _bytes_of_views(array.values)
    if types.is_struct(kind):
        return sum(_bytes_of_views(array.field(each)) for each in range(kind.num_fields))
    if kind.num_fields:
        raise ValueError(
            f"has a column of unsupported type {str(kind)[:80]}: send strings, numbers, dates, or lists of them"
        )
    return 0


def _is_text(kind: pa.DataType) -> bool:
    plain = types.is_string(kind) or types.is_large_string(kind) or types.is_binary(kind) or types.is_large_binary(kind)
    return bool(plain or types.is_string_view(kind) or types.is_binary_view(kind))


def _lengths(array: pa.Array) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The byte length of each string; 0 for null."""
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


def _decoded_dictionary_size(array: pa.DictionaryArray) -> int:
    values, indices = array.dictionary, array.indices
    if not _is_text(values.type):
        decoded_size(values)
        if values.type.num_fields or types.is_dictionary(values.type):
            raise ValueError(f"has a dictionary of {str(values.type)[:80]}: send this column without a dictionary")
        return len(array) * max(_WORD, 16)
    if not len(values):
        return len(array) * _WORD
    at = indices.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    return len(array) * _WORD + int(_lengths(values)[at].sum())
