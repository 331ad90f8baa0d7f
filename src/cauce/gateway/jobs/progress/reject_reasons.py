"""Groups the rejects of a job by reason and column, with examples. Reads a bounded number of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec
import polars as pl

MOST_REJECTS = 200_000
"""Rejects that are grouped at most: a request must not read the reports of a job for minutes."""
MOST_GROUPS = 100
EXAMPLES = 5
RAW_CHARS = 200


class RejectExample(msgspec.Struct, frozen=True):
    """`raw` is shortened to RAW_CHARS characters."""

    file: str
    line: int | None
    raw: str


class ReasonBody(msgspec.Struct, frozen=True):
    """`column` is null if a whole record could not be read. The examples are the first ones."""

    reason: str
    column: str | None
    count: int
    files: int
    examples: list[RejectExample]


class ReasonsBody(msgspec.Struct, frozen=True):
    """`counted` of `total` rejects are grouped; the rest is too many to read. `left_out` counts the groups beyond the
    most frequent ones."""

    reasons: list[ReasonBody]
    counted: int
    total: int
    left_out: int
    complete: bool


def reasons_of(frames: Iterable[pl.DataFrame], total: int, *, complete: bool) -> ReasonsBody:
    """Groups rejects in the order in which they are listed. The order of equal counts is that of first occurrence."""
    rows = pl.concat(_bounded(frames), how="vertical") if total else pl.DataFrame()
    if rows.is_empty():
        return ReasonsBody([], 0, total, 0, complete)
    grouped = rows.group_by("reason", "column", maintain_order=True).agg(
        pl.len().alias("count"),
        pl.col("file").n_unique().alias("files"),
        pl.struct("file", "line", pl.col("raw").str.slice(0, RAW_CHARS)).head(EXAMPLES).alias("examples"),
    )
    ordered = grouped.sort("count", descending=True, maintain_order=True)
    found = [_reason(row) for row in ordered.head(MOST_GROUPS).iter_rows(named=True)]
    return ReasonsBody(found, rows.height, total, max(ordered.height - MOST_GROUPS, 0), complete)


def _bounded(frames: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    left = MOST_REJECTS
    for frame in frames:
        yield frame.head(left)
        left -= frame.height
        if left <= 0:
            return


def _reason(row: dict[str, object]) -> ReasonBody:
    return msgspec.convert(row, ReasonBody)
