"""The four forms of an answer: CSV, JSON, Parquet and Arrow, written page by page."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import IO, Protocol

import msgspec
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from cauce.plan.outputs import Output, PlainOutput
from cauce.wire import Format


class AnswerFile(Protocol):
    """An answer being written. A page's columns are those of the answer."""

    def page(self, frame: pl.DataFrame) -> None: ...

    def close(self) -> None: ...


def open_answer(path: Path, columns: Mapping[str, Output], form: Format) -> AnswerFile:
    match form:
        case "csv":
            return _Csv(path, columns)
        case "json":
            return _Json(path, columns)
        case "parquet":
            return _Parquet(path, columns)
        case "arrow":
            return _Arrow(path, columns)


def csv_text(frame: pl.DataFrame, columns: Mapping[str, Output] | None = None) -> str:
    """Lines of RFC 4180 CSV without a header, each ended by LF."""
    if frame.is_empty():
        return ""
    texts = [columns[name].text(frame[name]) if columns else frame[name].cast(pl.String) for name in frame.columns]
    quoted = [_quoted(text.alias(str(place))) for place, text in enumerate(texts)]
    lines = pl.DataFrame(quoted).select(pl.concat_str(pl.all(), separator=",")).to_series()
    return "\n".join(lines) + "\n"


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


class _Csv:
    def __init__(self, path: Path, columns: Mapping[str, Output]) -> None:
        self._file: IO[str] = path.open("w", encoding="utf-8", newline="")
        self._columns = columns
        header = pl.DataFrame({name: [name] for name in columns})
        self._file.write(csv_text(header))

    def page(self, frame: pl.DataFrame) -> None:
        self._file.write(csv_text(frame, self._columns))

    def close(self) -> None:
        self._file.close()


class _Json:
    """One array of objects, an object a line; exact numbers keep their digits."""

    def __init__(self, path: Path, columns: Mapping[str, Output]) -> None:
        self._plain = [name for name, output in columns.items() if isinstance(output, PlainOutput)]
        self._file = path.open("wb")
        self._encoder = msgspec.json.Encoder(decimal_format="number")
        self._first = True
        self._file.write(b"[")

    def page(self, frame: pl.DataFrame) -> None:
        for row in frame.iter_rows(named=True):
            for name in self._plain:
                row[name] = _without_zeros(row[name])
            self._file.write(b"\n" if self._first else b",\n")
            self._file.write(self._encoder.encode(row))
            self._first = False

    def close(self) -> None:
        self._file.write(b"\n]\n")
        self._file.close()


def _without_zeros(number: Decimal | None) -> Decimal | None:
    if number is None:
        return None
    text = f"{number:f}"
    return Decimal(text.rstrip("0").rstrip(".") if "." in text else text)


def _schema(columns: Mapping[str, Output]) -> pa.Schema:
    empty = pl.DataFrame(schema={name: output.dtype for name, output in columns.items()})
    return empty.to_arrow(compat_level=pl.CompatLevel.oldest()).schema


class _Parquet:
    def __init__(self, path: Path, columns: Mapping[str, Output]) -> None:
        self._schema = _schema(columns)
        self._writer = pq.ParquetWriter(path, self._schema)

    def page(self, frame: pl.DataFrame) -> None:
        if not frame.is_empty():
            self._writer.write_table(frame.to_arrow(compat_level=pl.CompatLevel.oldest()).cast(self._schema))

    def close(self) -> None:
        self._writer.close()


class _Arrow:
    def __init__(self, path: Path, columns: Mapping[str, Output]) -> None:
        self._schema = _schema(columns)
        self._writer = pa.ipc.new_file(path, self._schema)

    def page(self, frame: pl.DataFrame) -> None:
        self._writer.write_table(frame.to_arrow(compat_level=pl.CompatLevel.oldest()).cast(self._schema))

    def close(self) -> None:
        self._writer.close()
