"""Late materialisation: a column is built only for the rows that remain when it is read."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from cauce.operators.join import Build, join
from cauce.operators.late import Late, Rows
from cauce.operators.order import POSITION
from cauce.operators.project import convert, select
from cauce.scan.csv.lookup import Numbers, TextSet

TABLE = pl.DataFrame({"price": [5, 50, 500, 5000], "text": ["a", "b", "c", "d"], "key": [1, 2, 3, 4]})


class Counting:
    """A source that records the rows it built of each column."""

    def __init__(self) -> None:
        self.built: list[tuple[str, list[int]]] = []

    def column(self, name: str, rows: Rows | None) -> pl.Series:
        chosen = np.arange(TABLE.height) if rows is None else rows
        self.built.append((name, chosen.tolist()))
        return TABLE[name][chosen]

    def rows_of(self, name: str) -> list[int]:
        return [row for column, rows in self.built if column == name for row in rows]


@pytest.fixture
def source() -> Counting:
    return Counting()


def rows_over(source: Counting) -> Late:
    return Late.of_source(source, None, TABLE.height, first_position=100)


def test_a_filter_keeps_text_from_being_built_for_the_rows_it_drops(source: Counting) -> None:
    kept = rows_over(source).filter([pl.col("price") > 100])
    assert source.rows_of("text") == []
    assert kept.frame(["text"])["text"].to_list() == ["c", "d"]
    assert source.rows_of("text") == [2, 3]


def test_a_second_predicate_builds_only_rows_that_passed_the_first(source: Counting) -> None:
    rows_over(source).filter([pl.col("price") > 100, pl.col("text") != "c"])
    assert source.rows_of("text") == [2, 3]


def test_a_semi_join_keeps_text_from_being_built_for_the_rows_it_drops(source: Counting) -> None:
    kept = join(rows_over(source), Build(pl.DataFrame({"key": [2]}), ["key"]), "semi")
    assert kept.frame(["text"])["text"].to_list() == ["b"]
    assert source.rows_of("text") == [1]


class Finding(Counting):
    """A source that finds texts without building them."""

    def find(self, name: str, texts: TextSet, rows: Rows | None) -> Numbers:
        return texts.numbers(TABLE[name][np.arange(TABLE.height) if rows is None else rows])

    def filled(self, name: str, rows: Rows | None) -> None:
        return None


def semi_joined(source: Finding) -> Late:
    return join(rows_over(source), Build(pl.DataFrame({"text": ["d", "x", "a", "d", "c"]}), ["text"]), "semi")


def test_the_text_key_of_a_semi_join_is_not_built_from_the_source() -> None:
    source = Finding()
    kept = semi_joined(source)
    assert kept.frame(["text", "price"]).rows() == [("a", 5), ("c", 500), ("d", 5000)]
    assert source.rows_of("text") == []


def test_numbers_of_the_key_of_a_semi_join_follow_its_rows() -> None:
    kept = semi_joined(Finding())
    known = kept.numbers("text")
    assert known is not None
    numbers = dict(zip("acd", known.tolist(), strict=True))
    assert len(set(numbers.values())) == 3
    assert kept.numbers("price") is None
    again = kept.take(np.array([2, 0, 2]))
    # Read before rows are dropped, so that the column is built.
    assert again.frame(["text"])["text"].to_list() == ["d", "a", "d"]
    left = again.filter([pl.col("price") > 100])
    found = left.numbers("text")
    assert found is not None
    assert found.tolist() == [numbers["d"], numbers["d"]]
    assert left.frame(["text"])["text"].to_list() == ["d", "d"]


@pytest.mark.parametrize("added", ["with_columns", "take"])
def test_a_column_that_replaces_the_key_of_a_semi_join_has_no_numbers(added: str) -> None:
    kept = semi_joined(Finding())
    new = pl.DataFrame({"text": ["p", "p", "q"]})
    made = kept.take(np.arange(3), new) if added == "take" else kept.beside(new)
    assert made.numbers("text") is None
    assert made.take(np.array([2, 0])).frame(["text"])["text"].to_list() == ["q", "p"]


def test_a_select_of_plain_columns_builds_nothing(source: Counting) -> None:
    select(rows_over(source), [pl.col("text"), pl.col("price")], keep_position=False)
    assert source.built == []


def test_a_column_is_built_once(source: Counting) -> None:
    rows = rows_over(source)
    rows.frame(["price"])
    rows.filter([pl.col("price") > 100]).frame(["price"])
    assert source.built == [("price", [0, 1, 2, 3])]


def test_positions_are_those_of_the_source_rows(source: Counting) -> None:
    kept = rows_over(source).filter([pl.col("price") > 10]).filter([pl.col("text") != "c"])
    assert kept.frame([POSITION])[POSITION].to_list() == [101, 103]


def test_unusable_rows_are_never_built(source: Counting) -> None:
    rows = Late.of_source(source, np.array([1, 3]), 2, first_position=0)
    assert rows.frame(["text", POSITION]).rows() == [("b", 1), ("d", 3)]
    assert source.rows_of("text") == [1, 3]


def test_a_repeated_row_is_built_twice_from_one_source_row(source: Counting) -> None:
    twice = rows_over(source).take(np.array([2, 2]))
    assert twice.frame(["text"])["text"].to_list() == ["c", "c"]


def test_a_computed_column_hides_the_source_column(source: Counting) -> None:
    rows = rows_over(source).with_columns([pl.lit("made").alias("text")])
    assert rows.frame(["text"])["text"].to_list() == ["made"] * 4
    assert source.rows_of("text") == []


def test_a_filter_that_drops_nothing_returns_the_same_object(source: Counting) -> None:
    rows = rows_over(source)
    assert rows.filter([pl.col("price") > 0]) is rows


def test_rows_without_columns_still_have_a_height(source: Counting) -> None:
    assert rows_over(source).with_columns([pl.lit(1).alias("one")]).frame(["one"]).height == TABLE.height


def test_a_conversion_is_computed_for_the_rows_that_are_left_when_it_is_read(source: Counting) -> None:
    prices = [pl.col("key"), pl.col("price").cast(pl.Float64)]
    kept = convert(rows_over(source), prices, keep_position=False).filter([pl.col("key") > 2])
    assert source.rows_of("price") == []
    assert kept.frame(["price"])["price"].to_list() == [500.0, 5000.0]
    assert kept.frame(["price"]).schema["price"] == pl.Float64
    assert source.rows_of("price") == [2, 3]


def test_a_converted_column_replaces_one_that_a_filter_has_built(source: Counting) -> None:
    filtered = rows_over(source).filter([pl.col("price") > 100])
    kept = convert(filtered, [pl.col("price").cast(pl.String), pl.col("price").alias("units")], keep_position=False)
    assert kept.frame(["price", "units"]).rows() == [("500", 500), ("5000", 5000)]


def test_a_converted_column_can_be_a_join_key(source: Counting) -> None:
    texts = convert(rows_over(source), [pl.col("text").alias("name")], keep_position=False)
    assert join(texts, Build(pl.DataFrame({"name": ["d"]}), ["name"]), "semi").frame(["key"]).rows() == [(4,)]


def test_rows_with_added_columns_are_converted_at_once(source: Counting) -> None:
    rows = rows_over(source).with_columns([(pl.col("price") * 2).alias("twice")])
    made = convert(rows, [pl.col("twice").cast(pl.String).alias("text")], keep_position=True)
    assert made.frame(["text", POSITION]).row(0) == ("10", 100)


@pytest.mark.parametrize("height", [0, 1, 3])
def test_expression_that_polars_finds_constant_has_a_value_per_row(height: int) -> None:
    rows = Late(pl.DataFrame({"k": range(1, height + 1)}, schema={"k": pl.Int64}))
    five = pl.when(pl.col("k") > 0).then(pl.lit(5)).otherwise(pl.lit(5))
    constant = pl.lit(0).ne_missing(five).alias("is not 0")
    made = rows.evaluate([pl.col("k") + 1, constant])
    assert made.to_dict(as_series=False) == {"k": [*range(2, height + 2)], "is not 0": [True] * height}
    assert rows.filter([constant]).height == height


def test_columns_that_a_filter_read_are_those_of_its_rows(source: Counting) -> None:
    kept = rows_over(source).filter([pl.col("price") > 10, pl.col("key") != 3])
    assert kept.frame(["key", "price"]).rows() == [(2, 50), (4, 5000)]
    assert [name for name, _ in source.built] == ["price", "key"]


def test_an_added_column_hides_one_that_was_built_before(source: Counting) -> None:
    rows = rows_over(source).filter([pl.col("price") > 10])
    kept = rows.take(np.array([0, 2]), pl.DataFrame({"price": [-1, -2]})).take(np.array([1]))
    assert kept.frame(["price", "key"]).rows() == [(-2, 4)]


def test_rows_that_were_taken_twice_have_all_columns_of_a_frame() -> None:
    kept = Late(TABLE).take(np.array([3, 1, 2])).take(np.array([2, 0]), pl.DataFrame({"more": [8, 9]}))
    assert kept.everything().rows() == [(500, "c", 3, 8), (5000, "d", 4, 9)]


def test_a_converted_column_is_not_one_that_was_built_before(source: Counting) -> None:
    rows = rows_over(source).filter([pl.col("price") > 10])
    kept = convert(rows, [pl.col("key"), (pl.col("price") * 2).alias("price")], keep_position=False)
    assert kept.frame(["price", "key"]).rows() == [(100, 2), (1000, 3), (10000, 4)]
