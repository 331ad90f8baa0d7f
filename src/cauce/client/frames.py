"""Converts answers to Polars frames with the types that their queries declare."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal

import polars as pl

from cauce.client.results import Page, whole
from cauce.client.transport import Transport
from cauce.plan.outputs import Output, narrow_integers
from cauce.scan.block import REJECT_SCHEMA


def whole_frame(transport: Transport, path: str) -> pl.DataFrame:
    buffer = io.BytesIO()
    whole(transport, path, "arrow", buffer)
    buffer.seek(0)
    found = pl.read_ipc(buffer) if buffer.getvalue().startswith(b"ARROW1") else pl.read_ipc_stream(buffer)
    return narrow_integers(found)


def frame_of(page: Page, columns: Mapping[str, Output]) -> pl.DataFrame:
    """Converts the rows of a page to the types that the query declares."""
    cells: list[list[object]] = [[row[index] for row in page.rows] for index in range(len(page.columns))]
    by_name = dict(zip(page.columns, cells, strict=True))
    return pl.DataFrame([_series(name, by_name[name], output.dtype) for name, output in columns.items()])


def _series(name: str, values: list[object], dtype: pl.DataType) -> pl.Series:
    if dtype == pl.Date():
        values = [None if value is None else date.fromisoformat(str(value)) for value in values]
    elif isinstance(dtype, pl.Datetime):
        return _times(name, [None if value is None else str(value) for value in values], dtype)
    elif isinstance(dtype, pl.Decimal):
        values = [None if value is None else Decimal(str(value)) for value in values]
    elif dtype.is_float():
        values = [float(value) if isinstance(value, int | Decimal) else value for value in values]
    return pl.Series(name, values, dtype=dtype)


def _times(name: str, texts: list[str | None], dtype: pl.Datetime) -> pl.Series:
    printed = pl.Series(name, texts, dtype=pl.String).str.strip_suffix("Z")
    times = printed.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f", time_unit="us")
    return times.dt.replace_time_zone(dtype.time_zone)


def rejects_frame(found: Iterator[Page]) -> pl.DataFrame:
    rows = [row for page in found for row in page.rows]
    return pl.DataFrame(rows, schema=REJECT_SCHEMA, orient="row")
