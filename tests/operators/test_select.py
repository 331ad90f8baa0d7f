"""Select and with_columns."""

from __future__ import annotations

import polars as pl

from cauce.operators.late import Late
from cauce.operators.order import POSITION
from cauce.operators.project import select

ROWS = pl.DataFrame({"a": [1, 2], "b": ["x", "y"], POSITION: [10, 11]})


def test_computes_expressions() -> None:
    rows = select(Late(ROWS), [(pl.col("a") * 2).alias("twice")], keep_position=False)
    assert rows.frame(["twice"])["twice"].to_list() == [2, 4]


def test_renames() -> None:
    rows = select(Late(ROWS), [pl.col("b").alias("name")], keep_position=False)
    assert rows.frame(["name"])["name"].to_list() == ["x", "y"]


def test_swaps_two_names() -> None:
    rows = select(Late(ROWS), [pl.col("a").alias("b"), pl.col("b").alias("a")], keep_position=False)
    assert rows.frame(["a", "b"]).rows() == [("x", 1), ("y", 2)]


def test_a_literal_is_repeated_in_every_row() -> None:
    rows = select(Late(ROWS), [pl.lit("best").alias("which")], keep_position=False)
    assert rows.frame(["which"])["which"].to_list() == ["best", "best"]


def test_keeps_the_position_when_asked() -> None:
    rows = select(Late(ROWS), [(pl.col("a") + 1).alias("a")], keep_position=True)
    assert rows.frame([POSITION])[POSITION].to_list() == [10, 11]


def test_drops_the_position_when_not_asked() -> None:
    rows = select(Late(ROWS), [(pl.col("a") + 1).alias("a")], keep_position=False)
    assert not rows.has_position


def test_with_columns_replaces_a_column_of_the_same_name() -> None:
    rows = Late(ROWS).with_columns([(pl.col("a") + 1).alias("a")])
    assert rows.frame(["a", "b"]).rows() == [(2, "x"), (3, "y")]


def test_with_columns_reads_the_old_values() -> None:
    rows = Late(ROWS).with_columns([pl.lit(0).alias("a"), pl.col("a").alias("before")])
    assert rows.frame(["a", "before"]).rows() == [(0, 1), (0, 2)]


def test_with_columns_works_on_no_rows() -> None:
    rows = Late(ROWS.clear()).with_columns([pl.lit(1).alias("one")])
    assert rows.frame(["one"]).height == 0
