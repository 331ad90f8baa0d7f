"""Explode: one row per element of a list."""

from __future__ import annotations

import polars as pl

from cauce.operators.late import Late
from cauce.operators.order import POSITION
from cauce.operators.project import explode

LISTS = pl.DataFrame(
    {"id": [1, 2, 3, 4], "tag": [["a", "b"], [], None, ["c"]], POSITION: [0, 1, 2, 3]},
    schema_overrides={"tag": pl.List(pl.String)},
)


def test_gives_a_row_for_each_element_in_order() -> None:
    rows = explode(Late(LISTS), "tag", ["id"])
    assert rows.frame(["id", "tag"]).rows() == [(1, "a"), (1, "b"), (4, "c")]


def test_an_empty_or_missing_list_gives_no_row() -> None:
    rows = explode(Late(LISTS.filter(pl.col("id").is_in([2, 3]))), "tag", ["id"])
    assert rows.height == 0


def test_works_without_other_columns() -> None:
    assert explode(Late(LISTS), "tag", []).frame(["tag"])["tag"].to_list() == ["a", "b", "c"]


def test_a_null_element_stays_a_row() -> None:
    rows = explode(Late(pl.DataFrame({"id": [1], "tag": [["a", None]]})), "tag", ["id"])
    assert rows.frame(["tag"])["tag"].to_list() == ["a", None]


def test_elements_keep_the_position_of_their_row() -> None:
    rows = explode(Late(LISTS), "tag", [POSITION])
    assert rows.frame([POSITION])[POSITION].to_list() == [0, 0, 3]


def test_works_on_no_rows() -> None:
    rows = explode(Late(LISTS.clear()), "tag", ["id"])
    assert rows.frame(["id", "tag"]).schema == {"id": pl.Int64, "tag": pl.String}
