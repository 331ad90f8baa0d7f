"""Checks that the header of a file or of an upload has the columns that the queries need."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Sequence

from cauce.errors import WrongColumns, did_you_mean
from cauce.scan.tables import TableSpec

_SHOWN_CHARACTERS = 1000
_UNREADABLE = re.compile("[\x00-\x08\x0e-\x1f\x7f]|\ufffd")


def headers_of(spec: TableSpec, columns: frozenset[str]) -> list[str]:
    """The names in the header of these columns and of the required ones."""
    return sorted({spec.columns[name].header for name in columns | set(spec.required)})


def headers_in(names: Sequence[str], spec: TableSpec, columns: frozenset[str]) -> list[str]:
    """Those of `headers_of` that a columnar file reads: all, unless the file may lack some and does."""
    wanted = headers_of(spec, columns)
    return [each for each in wanted if each in names] if spec.missing_is_null else wanted


def check_header(name: str, header: tuple[str, ...], spec: TableSpec, columns: frozenset[str]) -> None:
    """Raises unless the header has every needed column once. `name` is the file or upload, for the message."""
    twice = {cell for cell, count in Counter(header).items() if count > 1}
    needed = set(headers_of(spec, columns))
    if needed & twice:
        raise WrongColumns(f"{name} has more than one column {', '.join(sorted(needed & twice))}")
    missing = sorted(needed - set(header))
    if not missing or spec.missing_is_null:
        return
    if not is_text(header):
        raise WrongColumns(
            f"{name} is not a text file: its first line holds bytes that are not text; save it as CSV in UTF-8, "
            "or, if it is compressed or Parquet, give it the ending .csv.gz, .csv.zst or .parquet"
        )
    shown = textwrap.shorten(", ".join(header), _SHOWN_CHARACTERS)
    raise WrongColumns(
        f"{name} lacks {', '.join(missing)}; its header has {shown}"
        + (f" (read with delimiter {spec.delimiter!r})" if len(header) == 1 else "")
        + "; the first line must name the columns as the dataset does"
        + did_you_mean(missing[0], set(header) - needed)
    )


def is_text(cells: tuple[str, ...]) -> bool:
    """Whether column names are readable text: without control characters."""
    return not any(_UNREADABLE.search(cell) for cell in cells)
