"""The tables that Python code passes to `cauce.sql`: a folder as it is, or a temporary folder with links to files and
with frames as Parquet files.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from cauce.errors import DataNotFound, UsageError
from cauce.scan.formats.table import all_endings, stem_of


class ArrowTable(Protocol):
    """A table of any library that has Arrow's interface: Polars, pandas, pyarrow, DuckDB and others."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


Frame = pl.LazyFrame | ArrowTable

ONLY_TABLE = "data"
"""The name of the table if the data is one frame."""


@contextmanager
def folder_of_tables(data: object, folder: Path | None) -> Iterator[Path]:
    """Yields the folder that holds the tables. `folder` is `data` as a path, if it is one."""
    if folder is not None and not folder.is_file():
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="cauce-tables-") as made:
        for name, table in _named_tables(data, folder).items():
            _put(Path(made), name, table)
        yield Path(made)


def _named_tables(data: object, file: Path | None) -> dict[str, object]:
    if file is not None:
        return {stem_of(file.name): file}
    if not isinstance(data, Mapping):
        return {ONLY_TABLE: data}
    if not data:
        raise UsageError('data is an empty dictionary; name tables, as in {"orders": frame}')
    for name in data:
        if not isinstance(name, str) or not name.isidentifier():
            raise UsageError(f"{name!r} is not the name of a table: use letters, digits and underscores")
    return dict(data)


def _put(folder: Path, name: str, table: object) -> None:
    if isinstance(table, str | os.PathLike):
        _link(folder, name, Path(os.fspath(table)).expanduser())
        return
    frame = _frame(name, table)
    try:
        frame.write_parquet(folder / f"{name}.parquet", compression="uncompressed")
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as problem:
        raise UsageError(f"the frame of table {name} cannot be stored: {problem}; convert its columns first") from None


def _link(folder: Path, name: str, path: Path) -> None:
    if path.is_dir():
        (folder / name).symlink_to(path.resolve())
        return
    if not path.is_file():
        raise DataNotFound(f"{path}, the file of table {name}, does not exist")
    ending = path.name[len(stem_of(path.name)) :]
    if not ending:
        raise UsageError(f"{path} cannot be read; its name must end in {', '.join(all_endings())}")
    (folder / f"{name}{ending}").symlink_to(path.resolve())


def _frame(name: str, table: Any) -> pl.DataFrame:
    """A frame of Polars, pandas, Arrow or another library with Arrow's interface of columns."""
    if isinstance(table, pl.DataFrame):
        return table
    if isinstance(table, pl.LazyFrame):
        return table.collect()
    pandas = sys.modules.get("pandas")
    try:
        if pandas is not None and isinstance(table, pandas.DataFrame):
            return pl.from_pandas(table)
        if hasattr(table, "__arrow_c_stream__"):
            return pl.DataFrame(table)
    except (pl.exceptions.PolarsError, ImportError, TypeError, ValueError) as problem:
        raise UsageError(f"the frame of table {name} cannot be converted to Polars: {problem}") from None
    raise UsageError(
        f"table {name} must be a frame of Polars, pandas or Arrow, or the path of a file or folder, not {table!r}"
    )
