"""Writes answers page by page in the four result formats: CSV, JSON, Parquet and Arrow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import msgspec
import polars as pl
import pyarrow as pa

from cauce.api.formats import Format
from cauce.plan.outputs import Output, ShortestDecimalOutput, TimestampOutput

GROUP_ROWS = 10_000
"""Rows per row group in Parquet and per record batch in Arrow."""


class AnswerFile(Protocol):
    """An answer being written. Each page must have the columns of the answer."""

    def page(self, frame: pl.DataFrame) -> None: ...

    def close(self) -> None: ...


def open_answer(out: Path | BinaryIO, columns: Mapping[str, Output], form: Format) -> AnswerFile:
    """Writes to a new file at a path, or to an open file, which is not closed."""
    match form:
        case "csv":
            return _Csv(out, columns)
        case "json":
            return _Json(out, columns)
        case "parquet":
            return _Parquet(out, columns)
        case "arrow":
            return _Arrow(out, columns)


_INTEGERS = frozenset({pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64})


def csv_text(frame: pl.DataFrame, columns: Mapping[str, Output] | None = None) -> str:
    """Lines of RFC 4180 CSV without a header, each ended by LF."""
    if frame.is_empty():
        return ""
    if _has_plain_integers(frame, columns):
        return frame.write_csv(include_header=False)
    texts = [columns[name].text(frame[name]) if columns else frame[name].cast(pl.String) for name in frame.columns]
    quoted = [_quoted(text.alias(str(place))) for place, text in enumerate(texts)]
    lines = pl.DataFrame(quoted).select(pl.concat_str(pl.all(), separator=",")).to_series()
    return f"{lines.str.join(chr(10)).item()}\n"


def _has_plain_integers(frame: pl.DataFrame, columns: Mapping[str, Output] | None) -> bool:
    """Whether Polars writes the same text. It writes texts and nulls in another way."""
    unchanged = columns is None or all(type(columns[name]) is Output for name in frame.columns)
    return unchanged and all(dtype in _INTEGERS for dtype in frame.dtypes) and not any(frame.null_count().row(0))


def _quoted_name(name: str) -> str:
    """As `_quoted`, of one text: a header is written before the workers have their first part."""
    return '"' + name.replace('"', '""') + '"' if any(each in name for each in '",\r\n') else name


def _quoted(texts: pl.Series) -> pl.Series:
    texts = texts.fill_null("")
    needs = texts.str.contains('[",\r\n]')
    if not needs.any():
        return texts
    inner = texts.str.replace_all('"', '""', literal=True)
    column = pl.col(texts.name)
    both = pl.DataFrame([texts, inner.alias("#inner"), needs.alias("#needs")])
    wrapped = pl.concat_str([pl.lit('"'), pl.col("#inner"), pl.lit('"')])
    return both.select(pl.when(pl.col("#needs")).then(wrapped).otherwise(column).alias(texts.name)).to_series()


class _Lines:
    """Output file of CSV and JSON."""

    def __init__(self, out: Path | BinaryIO) -> None:
        self._opened = out.open("wb") if isinstance(out, Path) else None
        self._file: BinaryIO = self._opened or out  # type: ignore[assignment]

    def write(self, data: bytes) -> None:
        self._file.write(data)

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()


class _Csv:
    def __init__(self, out: Path | BinaryIO, columns: Mapping[str, Output]) -> None:
        self._file = _Lines(out)
        self._columns = columns
        self._file.write(f"{','.join(map(_quoted_name, columns))}\n".encode())

    def page(self, frame: pl.DataFrame) -> None:
        self._file.write(csv_text(frame, self._columns).encode())

    def close(self) -> None:
        self._file.close()


class _Json:
    """One array of objects, one object per line. Exact numbers keep all digits."""

    def __init__(self, out: Path | BinaryIO, columns: Mapping[str, Output]) -> None:
        # As text: Python would need a time zone database, which not every machine has.
        self._times = {name: output for name, output in columns.items() if isinstance(output, TimestampOutput)}
        self._plain = [name for name, output in columns.items() if isinstance(output, ShortestDecimalOutput)]
        self._file = _Lines(out)
        self._encoder = msgspec.json.Encoder(decimal_format="number")
        self._first = True
        self._file.write(b"[")

    def page(self, frame: pl.DataFrame) -> None:
        frame = frame.with_columns(output.text(frame[name]) for name, output in self._times.items())
        for row in frame.iter_rows(named=True):
            for name in self._plain:
                row[name] = without_zeros(row[name])
            self._file.write(b"\n" if self._first else b",\n")
            self._file.write(self._encoder.encode(row))
            self._first = False

    def close(self) -> None:
        self._file.write(b"\n]\n")
        self._file.close()


def without_zeros(number: Decimal | None) -> Decimal | None:
    if number is None:
        return None
    text = f"{number:f}"
    return Decimal(text.rstrip("0").rstrip(".") if "." in text else text)


def _schema(columns: Mapping[str, Output]) -> pa.Schema:
    empty = pl.DataFrame(schema={name: output.dtype for name, output in columns.items()})
    return empty.to_arrow(compat_level=pl.CompatLevel.oldest()).schema


class _Groups:
    """Regroups pages into groups of equal size, so that the bytes of a file depend only on its rows."""

    def __init__(self, columns: Mapping[str, Output], write: Callable[[pa.Table], None]) -> None:
        self.schema = _schema(columns)
        self._write = write
        self._held: list[pl.DataFrame] = []
        self._rows = 0

    def add(self, frame: pl.DataFrame) -> None:
        self._held.append(frame)
        self._rows += frame.height
        if self._rows >= GROUP_ROWS:
            self._write_held(self._rows - self._rows % GROUP_ROWS)

    def end(self) -> None:
        if self._rows:
            self._write_held(self._rows)

    def _write_held(self, rows: int) -> None:
        held = pl.concat(self._held, rechunk=True)
        for start in range(0, rows, GROUP_ROWS):
            group = held.slice(start, min(GROUP_ROWS, rows - start))
            self._write(group.rechunk().to_arrow(compat_level=pl.CompatLevel.oldest()).cast(self.schema))
        self._held, self._rows = [held.slice(rows)], held.height - rows


class _Columnar:
    """Writes row groups with a writer of pyarrow."""

    _writer: Any

    def __init__(self, columns: Mapping[str, Output]) -> None:
        self._groups = _Groups(columns, lambda table: self._writer.write_table(table))

    def page(self, frame: pl.DataFrame) -> None:
        self._groups.add(frame)

    def close(self) -> None:
        self._groups.end()
        self._writer.close()


class _Parquet(_Columnar):
    def __init__(self, out: Path | BinaryIO, columns: Mapping[str, Output]) -> None:
        super().__init__(columns)
        # Imported only where Parquet is written.
        import pyarrow.parquet as pq

        self._writer = pq.ParquetWriter(out, self._groups.schema)


class _Arrow(_Columnar):
    def __init__(self, out: Path | BinaryIO, columns: Mapping[str, Output]) -> None:
        super().__init__(columns)
        self._writer = pa.ipc.new_file(out, self._groups.schema)
