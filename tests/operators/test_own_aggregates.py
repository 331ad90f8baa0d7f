"""User-defined aggregates: one class each, without any other change."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

import cauce
from cauce.operators.aggregates import Batch, OfColumn
from cauce.operators.aggregates.base import Types
from cauce.scan.text_hash import text_hashes

KEPT = 256


@dataclass(frozen=True)
class ApproxCountDistinct(OfColumn):
    """Approximate number of distinct values, estimated from the largest of the k smallest hashes."""

    def partial(self, batch: Batch, name: str) -> list[pl.Expr]:
        texts = pl.col(self.column).cast(pl.String).drop_nulls()
        hashes = texts.map_batches(lambda each: pl.Series(text_hashes(each)), return_dtype=pl.UInt64)
        return [hashes.unique().bottom_k(KEPT).alias(name)]

    def merge(self, batch: Batch, name: str) -> list[pl.Expr]:
        return [pl.col(name).explode().drop_nulls().unique().bottom_k(KEPT)]

    def final(self, states: pl.DataFrame, name: str) -> pl.Series:
        return pl.Series(name, [_estimated(kept.to_list()) for kept in states[name]], dtype=pl.Int64)

    def empty(self, types: Types, name: str) -> dict[str, pl.Expr]:
        return {name: pl.lit([], dtype=types[name])}

    def dtype(self, types: Types) -> pl.DataType:
        return pl.Int64()


def _estimated(kept: list[int]) -> int:
    return len(kept) if len(kept) < KEPT else round((KEPT - 1) * 2**64 / max(kept))


@dataclass(frozen=True)
class AllBytes(OfColumn):
    """The sorted distinct bytes of a text. Its state is binary, but not a FloatSum."""

    def partial(self, batch: Batch, name: str) -> list[pl.Expr]:
        return [pl.col(self.column).str.join("").map_elements(_in_order, return_dtype=pl.Binary).alias(name)]

    def merge(self, batch: Batch, name: str) -> list[pl.Expr]:
        batch.finish.append(lambda groups: groups.with_columns(_merged(groups[name])))
        return [pl.col(name)]

    def final(self, states: pl.DataFrame, name: str) -> pl.Series:
        return states[name].cast(pl.String)

    def dtype(self, types: Types) -> pl.DataType:
        return pl.String()


def _merged(states: pl.Series) -> pl.Series:
    """`states` has one list of states per group."""
    merged = [_in_order("".join(each.decode() for each in of_group)) for of_group in states]
    return pl.Series(states.name, merged, dtype=pl.Binary)


def _in_order(text: str) -> bytes:
    return "".join(sorted(set(text))).encode()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Two files, so that states of several parts are merged."""
    for number in range(2):
        lines = [
            f"{'even' if value % 2 == 0 else 'odd'},{value}" for value in range(number * 3000, 4000 + number * 2000)
        ]
        (tmp_path / f"values_{number}.csv").write_text("\n".join(["kind,value", *lines, ""]))
    return tmp_path


def answer(data: Path, aggregate: cauce.Aggregate, output: object) -> list[tuple[object, ...]]:
    values = cauce.Table("values", "values_*.csv", {"kind": cauce.Text(), "value": cauce.Text()})
    dataset = cauce.Dataset("values", (values,))

    @dataset.query(kind=cauce.TEXT, found=output)
    def q1() -> cauce.Relation:
        """Found"""
        return values.group_by("kind").agg(found=aggregate).sort("kind")

    return cauce.run(dataset, data, progress=False)["q1"].rows()


def test_an_approximate_distinct_count(data: Path) -> None:
    even, odd = answer(data, ApproxCountDistinct("value"), cauce.INTEGER)
    assert (even[0], odd[0]) == ("even", "odd")
    for _, found in (even, odd):
        assert isinstance(found, int)
        assert 0.7 * 3000 < found < 1.3 * 3000


def test_a_binary_state_is_merged_by_its_own_aggregate(data: Path) -> None:
    assert answer(data, AllBytes("value"), cauce.TEXT) == [("even", "0123456789"), ("odd", "0123456789")]
