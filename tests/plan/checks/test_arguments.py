"""Every public function of the dataset API rejects wrong arguments at once and says what it expects."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

import cauce.plan
from cauce.errors import PlanError
from cauce.plan import (
    Column,
    Dataset,
    FieldList,
    Fixed,
    Integer,
    Parameter,
    Relation,
    Table,
    Text,
    TextList,
    agg,
    asc,
    decimal,
    desc,
    divide,
    divide_half_even,
    ratio,
)

t: Any = Table("t", "t.csv", {"a": Integer(), "b": Text(), "c": TextList()})
other: Any = Table("o", "o.csv", {"a": Integer(), "d": Text()})
any_: Any = None


def made(name: str, /, **changed: Any) -> Callable[[], object]:
    """A table with one argument changed."""
    given: dict[str, Any] = {"name": name, "files": "t.csv", "columns": {"a": Text()}, **changed}
    return lambda: Table(**given)


def of(function: Any, *args: Any, **named: Any) -> Callable[[], object]:
    return lambda: function(*args, **named)


NAME = "takes the name of a column, not"
WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "limit": (of(t.limit, -1), "limit: n must be a whole number of at least 0, not -1"),
    "limit offset": (of(t.limit, 1, offset=1.5), "limit: offset must be a whole number of at least 0, not 1.5"),
    "limit by": (of(t.limit, 1, by=5), f"limit: by {NAME} 5"),
    "union": (of(t.union, "other"), "union: its argument must be a relation"),
    "union columns": (of(t.union, other), "union needs equal columns, not a, b, c and a, d"),
    "intersect": (of(t.intersect, t, distinct=1), "intersect: distinct must be True or False, not 1"),
    "difference": (of(t.difference, None), "difference: its argument must be a relation"),
    "window": (of(t.window, n=1), "window: n must be a window function"),
    "group_by nulls": (of(t.group_by, "a", nulls=1), "group_by: nulls must be True or False, not 1"),
    "join how": (
        of(t.join, other, on="a", how="outer"),
        "unknown how 'outer'; expected one of inner, left, right, full, semi, anti, cross",
    ),
    "join how None": (of(t.join, other, on="a", how=None), "unknown how None; expected one of inner, left"),
    "join strategy": (of(t.join, other, on="a", strategy="hash"), "unknown strategy 'hash'; expected one of broadcast"),
    "join other": (of(t.join, "other", on="a"), "join: the other side must be a relation"),
    "join on": (of(t.join, other, on=5), f"join: on {NAME} 5"),
    "join on nothing": (of(t.join, other, on=[]), "join: on needs a column"),
    "join on twice": (of(t.join, other, on=["a", "a"]), "join: on names a twice"),
    "join on expression": (of(t.join, other, on=pl.col("a")), 'join: on takes the name .* write "a"'),
    "filter nothing": (of(t.filter), "filter needs a condition"),
    "filter number": (of(t.filter, 5), r'filter takes conditions such as pl.col\("n"\) > 1, not 5'),
    "filter list": (of(t.filter, [pl.col("a") > 1]), "filter takes conditions such as"),
    "select nothing": (of(t.select), "select needs a column"),
    "select twice": (of(t.select, "a", "a"), "select gives the name a to more than one column"),
    "select list": (of(t.select, ["a", "b"]), "select: a column must be a name or an expression"),
    "with_columns position": (of(t.with_columns, pl.col("a")), "name each column: with_columns"),
    "explode": (of(t.explode, ["c"]), "explode takes names of columns one by one"),
    "with_scalars": (of(t.with_scalars, 5), "with_scalars: its argument must be a relation of one row"),
    "with_scalars rows": (of(t.with_scalars, other), "with_scalars needs a relation of one row"),
    "group_by nothing": (of(t.group_by), "group_by needs a column"),
    "group_by twice": (of(t.group_by, "a", "a"), "group_by names a twice"),
    "agg nothing": (of(t.agg), "agg needs an aggregate"),
    "agg key": (of(t.group_by("a").agg, a=agg.count()), "agg: a is a key of the group_by already"),
    "agg number": (of(t.agg, n=5), "agg: n=5 is not an aggregate"),
    "distinct": (of(t.distinct, 5), f"distinct {NAME} 5"),
    "top_k k": (of(t.top_k, 0, by="a"), "top_k: k must be a whole number of at least 1, not 0"),
    "top_k True": (of(t.top_k, True, by="a"), "top_k: k must be a whole number of at least 1, not True"),
    "top_k half": (of(t.top_k, 2.5, by="a"), "top_k: k must be a whole number of at least 1, not 2.5"),
    "top_k by": (of(t.top_k, 1, by=5), f"top_k: by {NAME} 5"),
    "top_k by nothing": (of(t.top_k, 1, by=[]), "top_k: by needs a column"),
    "top_k by expression": (of(t.top_k, 1, by=pl.col("a")), 'top_k: by takes the name .* write "a"'),
    "top_k per": (of(t.top_k, 1, by="a", per=5), f"top_k: per {NAME} 5"),
    "top_k ties": (of(t.top_k, 1, by="a", ties="min"), "unknown ties 'min'; expected one of cut, all"),
    "concat": (of(t.concat, [other]), "concat: its argument must be a relation"),
    "sort nothing": (of(t.sort), "sort needs a column"),
    "sort number": (of(t.sort, 5), f"sort {NAME} 5"),
    "in_input_order": (of(t.in_input_order, "a"), "in_input_order.* takes no argument"),
    "count": (of(agg.count, 5), f"count {NAME} 5"),
    "sum": (of(agg.sum, pl.col("a")), 'sum takes the name of a column, not an expression; write "a"'),
    "sum computed": (of(agg.sum, pl.col("a") * 2), "compute it with with_columns"),
    "sum nothing": (of(agg.sum), r"sum\(\): missing a required argument: 'column'"),
    "mean": (of(agg.mean, None), f"mean {NAME} None"),
    "min": (of(agg.min, 5), f"min {NAME} 5"),
    "max": (of(agg.max, ["a"]), 'max takes names of columns one by one, not list; write "a"'),
    "first": (of(agg.first, ""), 'first must be a text, such as "column", not'),
    "quantile": (of(agg.quantile, "a", "0.5"), "quantile: q must be a number from 0 to 1, not '0.5'"),
    "quantile above": (of(agg.quantile, "a", 1.01), "quantile: q must be a number from 0 to 1, not 1.01"),
    "quantile nan": (of(agg.quantile, "a", float("nan")), "quantile: q must be a number from 0 to 1, not nan"),
    "n_unique": (of(agg.n_unique, 5), f"n_unique {NAME} 5"),
    "mode": (of(agg.mode, 5), f"mode {NAME} 5"),
    "mode_count": (of(agg.mode_count, 5), f"mode_count {NAME} 5"),
    "asc": (of(asc, 5), f"asc {NAME} 5"),
    "asc nulls_first": (of(asc, "a", nulls_first="yes"), "asc: nulls_first must be True or False, not 'yes'"),
    "desc": (of(desc, 5), f"desc {NAME} 5"),
    "desc twice": (of(desc, desc("a")), f"desc {NAME} a desc"),
    "ratio": (of(ratio, "a", 5), f"ratio {NAME} 5"),
    "divide": (of(divide, "a", pl.col("b")), "divide takes the name of a column, not an expression"),
    "divide_half_even": (of(divide_half_even, 1, "a"), f"divide_half_even {NAME} 1"),
    "decimal": (of(decimal, 38), "decimal: its scale must be a whole number from 0 to 37, not 38"),
    "decimal of a float": (of(decimal, 2.0), "decimal: its scale must be a whole number from 0 to 37, not 2.0"),
    "decimal unscaled": (of(decimal, 2, unscaled=1), "decimal: unscaled must be True or False, not 1"),
    "Column again": (
        made("t", columns={"a": Column("a", again=any_)}),
        "table t, column a: again must be True or False, not None",
    ),
    "Column nulls": (
        made("t", columns={"a": Column("a", nulls="NA")}),  # type: ignore[arg-type]
        "table t, column a: nulls must be texts that mark an empty cell",
    ),
    "Table name": (made("my table"), "table 'my table': a name may have"),
    "Table name None": (made(any_), "table None: a name may have"),
    "Table files": (made("t", files=[]), "table t: files must be a pattern"),
    "Table files list": (made("t", files=[5]), "table t: a pattern of files must be a text"),
    "Table columns": (made("t", columns={}), "table t: columns must be names with kinds"),
    "Table kind": (made("t", columns={"a": pl.Int64}), "table t, column a must be a kind such as Text"),
    "Table kind text": (made("t", columns={"a": "text"}), "table t, column a must be a kind such as Text"),
    "Table kind class": (made("t", columns={"a": Column("A", any_ or Integer)}), "write Integer.*, with parentheses"),  # type: ignore[arg-type]
    "Table header": (made("t", columns={"a": Column(any_, Text())}), "table t, column a: the header must be a text"),
    "Table delimiter": (made("t", delimiter=""), "table t: delimiter must be one ASCII character"),
    "Table delimiter ü": (made("t", delimiter="ü"), "table t: delimiter must be one ASCII character"),
    "Table delimiter quote": (made("t", delimiter='"'), "table t: delimiter must be one ASCII character"),
    "Table null": (made("t", null=["NA"]), "table t: null must be the text"),
    "Table null empty": (made("t", null=""), "table t: null must be the text"),
    "Table small": (made("t", small=1), "table t: small must be True or False, not 1"),
    "Table required": (made("t", required=5), f"table t: required {NAME} 5"),
    "Table option": (made("t", delimeter=";"), "Table.* has no argument delimeter; did you mean delimiter"),
    "Fixed": (made("t", columns={"a": Fixed(any_)}), "the decimals of Fixed must be a whole number from 0 to 18, not"),
    "FieldList": (made("t", columns={"a": FieldList("")}), "the field of FieldList must be a text"),
    "Dataset name": (of(Dataset, "a b", (t,)), "dataset 'a b': a name may have"),
    "Dataset tables": (of(Dataset, "d", t), "dataset d: tables must be a tuple or list of tables"),
    "Dataset table": (of(Dataset, "d", ("t",)), "dataset d: a table must be a Table"),
    "Dataset relation": (of(Dataset, "d", (t.select("a"),)), "dataset d: a table must be a Table"),
    "Dataset twice": (of(Dataset, "d", (t, t)), "dataset d has two tables named t"),
    "Dataset parameter": (of(Dataset, "d", (t,), ("year",)), "dataset d: a parameter must be a Parameter"),
    "Parameter name": (of(Parameter, "", ("a",)), "Parameter: name must be a text"),
    "Parameter choices": (of(Parameter, "year", ()), "parameter year: choices must be texts"),
    "Parameter choice": (of(Parameter, "year", (2024,)), "parameter year: a choice must be a text"),
    "partitions": (of(Dataset("d", (t,)).plan, None, None, 0), "partitions must be a whole number of at least 1"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_argument_is_rejected(case: str) -> None:
    call, expected = WRONG[case]
    with pytest.raises(PlanError, match=expected):
        call()


def public_calls() -> set[str]:
    """Functions of the dataset API and methods of relations that take arguments."""
    exported = {name: getattr(cauce.plan, name) for name in cauce.plan.__all__}
    functions = {name for name, each in exported.items() if inspect.isfunction(each)}
    methods = {name for name, each in vars(Relation).items() if inspect.isfunction(each) and not name.startswith("_")}
    return functions | methods


def test_every_public_function_is_in_the_table() -> None:
    tried = {case.split()[0] for case in WRONG}
    assert public_calls() - tried == set()
