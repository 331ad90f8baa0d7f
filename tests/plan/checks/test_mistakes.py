"""Errors in dataset files: each is one line with its location, the reason and what to write instead."""

# ruff: noqa: E501  (messages as printed)

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import cauce
from cauce.datasets import load
from cauce.errors import PlanError
from tests.terminal.terminal import cauce as command
from tests.terminal.terminal import run_in_terminal

START = '''import polars as pl
from cauce.plan import *

orders = Table(
    "orders",
    "orders.csv",
    {
        "order_id": Identifier(),
        "product": Text(),
        "quantity": Integer(),
        "paid": Decimal(),
        "day": Date(),
        "tags": TextList(),
    },
)
products = Table("products", "products.csv", {"product": Text(), "name": Text()}, small=True)
numbered = Table("numbered", "numbered.csv", {"product": Integer(), "label": Text()})
dataset = Dataset("shop", (orders, products, numbered))


@dataset.query(product=TEXT, n=INTEGER)
def q():
    """?"""
'''
BODY = START.count("\n") + 1
"""The line of the first statement of the query."""

QUERY = BODY - 3
"""The line of its decorator."""

IN_A_QUERY = {
    "exit": ("    raise SystemExit(0)", BODY, "SystemExit: 0"),
    "name error": (
        '    return ordres.group_by("product").agg(n=agg.count())',
        BODY,
        "name ordres is not defined; did you mean orders?",
    ),
    "aggregate without agg": (
        '    return orders.group_by("product").agg(n=count())',
        BODY,
        "name count is not defined; write agg.count",
    ),
    "forgotten return": (
        '    orders.group_by("product").agg(n=agg.count())',
        QUERY,
        "the function returns nothing; end it with return and a relation",
    ),
    "agg(pl.len())": (
        '    return orders.group_by("product").agg(pl.len())',
        BODY,
        "agg(): too many positional arguments; name each aggregate: agg(n=agg.count())",
    ),
    "agg col sum": (
        '    return orders.group_by("product").agg(n=pl.col("quantity").sum())',
        BODY,
        'agg: n=col("quantity").sum() is not an aggregate; write n=agg.sum("quantity")',
    ),
    "agg len named": (
        '    return orders.group_by("product").agg(n=pl.len())',
        BODY,
        "agg: n=len() is not an aggregate; write n=agg.count()",
    ),
    "head": (
        "    return orders.head(10)",
        BODY,
        'a relation has no method head; use limit(10, by="column", offset=0)',
    ),
    "sort desc": (
        '    grouped = orders.group_by("product").agg(n=agg.count())\n    return grouped.sort("n", descending=True)',
        BODY + 1,
        'sort() has no argument descending; write sort(desc("n"))',
    ),
    "wc unknown": (
        '    return orders.with_columns(n=pl.col("payed") * 2)',
        BODY,
        "no column payed here; there are day, order_id, paid, product, quantity, tags; did you mean paid?",
    ),
    "select unknown": (
        '    return orders.select("product", n="quantiti")',
        BODY,
        "no column quantiti here; there are day, order_id, paid, product, quantity, tags; did you mean quantity?",
    ),
    "select python": (
        "    return orders.select(5)",
        BODY,
        'select: a column must be a name or an expression, such as "n" or pl.col("n"), not 5',
    ),
    "join names": (
        '    return orders.join(products, on="produkt")',
        BODY,
        "no column produkt here; there are day, order_id, paid, product, quantity, tags; did you mean product?",
    ),
    "join left_on": (
        '    return orders.join(products, left_on="product", right_on="product")',
        BODY,
        'join() has no argument left_on; rename one side with select(...) and write on="key"',
    ),
    "join other": (
        '    return orders.join(products, on="order_id")',
        BODY,
        "no column order_id on the other side; it has name, product",
    ),
    "filter and": (
        '    return orders.filter(pl.col("quantity") > 1 and pl.col("paid") > 2)',
        BODY,
        "and, or, not, in and chained comparisons do not work on columns; write (a) & (b), (a) | (b) or ~(a)",
    ),
    "filter chain": (
        '    return orders.filter(1 < pl.col("quantity") < 3)',
        BODY,
        "and, or, not, in and chained comparisons do not work on columns; write (a) & (b), (a) | (b) or ~(a)",
    ),
    "filter ==": (
        '    return orders.filter("product" == "tea")',
        BODY,
        'filter takes conditions on columns, not False; write filter(pl.col("name") == ...), not a comparison of texts',
    ),
    "filter str": (
        '    return orders.filter("quantity > 1")',
        BODY,
        "filter takes conditions such as pl.col(\"n\") > 1, not 'quantity > 1'",
    ),
    "filter kw": (
        "    return orders.filter(quantity=1)",
        BODY,
        'filter() has no argument quantity; write a condition, such as filter(pl.col("n") == 1)',
    ),
    "group count": (
        '    return orders.group_by("product").count()',
        BODY,
        "group_by(...) has no method count; use .agg(n=agg.count())",
    ),
    "returned group": (
        '    return orders.group_by("product")',
        QUERY,
        "the function returns a group_by without aggregates; add .agg(n=agg.count())",
    ),
    "returned df": (
        '    return pl.DataFrame({"a": [1]})',
        QUERY,
        "the function returns a DataFrame, not a relation; start from a table of the dataset",
    ),
    "how outer": (
        '    return orders.join(products, on="product", how="outer")',
        BODY,
        "unknown how 'outer'; expected one of inner, left, right, full, semi, anti, cross; write how=\"full\"",
    ),
    "how typo": (
        '    return orders.join(products, on="product", how="inne")',
        BODY,
        "unknown how 'inne'; expected one of inner, left, right, full, semi, anti, cross; did you mean inner?",
    ),
    "strategy": (
        '    return orders.join(products, on="product", strategy="shuffle")',
        BODY,
        "unknown strategy 'shuffle'; expected one of broadcast, partition",
    ),
    "ties": (
        '    return orders.top_k(3, by="paid", ties="keep")',
        BODY,
        "unknown ties 'keep'; expected one of cut, all",
    ),
    "top_k text": (
        '    return orders.top_k("10", by="paid")',
        BODY,
        "top_k: k must be a whole number of at least 1, not '10'",
    ),
    "top_k neg": (
        '    return orders.top_k(-1, by="paid")',
        BODY,
        "top_k: k must be a whole number of at least 1, not -1",
    ),
    "top_k noby": (
        "    return orders.top_k(10)",
        BODY,
        "top_k(): missing a required argument: 'by'; write top_k(10, by=desc(\"n\"))",
    ),
    "sum text": (
        '    return orders.group_by("product").agg(n=agg.sum("product"))',
        BODY,
        'agg: n=agg.sum("product") needs numbers, but product is text; declare the column as Integer() or Decimal(), or cast it',
    ),
    "text as int": (
        '    return orders.select("product", n="product")',
        QUERY,
        "column n is text; declare it as TEXT, not INTEGER",
    ),
    "decimal as int": (
        '    return orders.select("product", n="paid")',
        QUERY,
        "column n is a decimal; declare it as decimal(2) or DECIMAL, not INTEGER",
    ),
    "cmp": (
        '    return orders.filter(pl.col("product") > 5).select("product", n="quantity")',
        BODY,
        'cannot compare string with numeric type (i32), in [(col("product")) > (dyn int: 5)]: product is text; declare the column as another kind, or cast it, as in pl.col("n").cast(pl.Int64)',
    ),
    "cmp join": (
        '    return orders.join(numbered, on="product").select("product", n="quantity")',
        BODY,
        "join on product: it is text on the left and an integer on the right; give both sides the same kind, or cast one with with_columns",
    ),
    "filter nonbool": (
        '    return orders.filter(pl.col("quantity")).select("product", n="quantity")',
        BODY,
        'filter takes boolean conditions, but col("quantity") is an integer; write a comparison, such as pl.col("n") > 1',
    ),
    "missing output": (
        '    return orders.group_by("product").agg(m=agg.count())',
        QUERY,
        "q has no column n to show or to sort by; there are m, product",
    ),
    "method typo": (
        '    return orders.fliter(pl.col("quantity") > 1)',
        BODY,
        "a relation has no method fliter; did you mean filter?",
    ),
    "column attr": (
        "    return orders.select(orders.product)",
        BODY,
        'a relation has no method product; for the column write pl.col("product")',
    ),
    "getitem": (
        '    return orders["product"]',
        BODY,
        'a relation has no [...]; for a column write pl.col("product"), for several select(...)',
    ),
    "group expr": (
        '    return orders.group_by(pl.col("product")).agg(n=agg.count())',
        BODY,
        'group_by takes the name of a column, not an expression; write "product"',
    ),
    "group list": (
        '    return orders.group_by(["product", "day"]).agg(n=agg.count())',
        BODY,
        'group_by takes names of columns one by one, not list; write "product", "day"',
    ),
    "agg fn": (
        '    return orders.group_by("product").agg(n=agg.count)',
        BODY,
        "agg: n=count is not an aggregate; write n=agg.count(...), with parentheses",
    ),
    "agg str": (
        '    return orders.group_by("product").agg(n=max("quantity"))',
        BODY,
        'agg: n=\'y\' is not an aggregate; write n=agg.count(), n=agg.sum("column"), n=agg.max("column") and the like',
    ),
    "zero": ('    return orders.filter(pl.col("quantity") > 1 / 0)', BODY, "ZeroDivisionError: division by zero"),
    "pl attr": (
        '    return orders.filter(pl.coll("quantity") > 1)',
        BODY,
        "AttributeError: module 'polars' has no attribute 'coll'; did you mean col?",
    ),
    "expr attr": (
        '    return orders.filter(pl.col("quantity").is_nul())',
        BODY,
        "AttributeError: 'Expr' object has no attribute 'is_nul'; did you mean is_null?",
    ),
    "date cmp": (
        '    return orders.filter(pl.col("day") > "2024-01-01").select("product", n="quantity")',
        BODY,
        "cannot compare 'date/datetime/time' to a string value (create native python { 'date', 'datetime', 'time' } or compare to a temporal column), in [(col(\"day\")) > (\"2024-01-01\")]: day is a date; write a day as date(2024, 2, 29) and a time as datetime(2024, 2, 29, 18, 30), both from datetime",
    ),
    "sort mid": (
        '    return orders.sort("paid").select("product", n="quantity")',
        QUERY,
        "sort may only be the last step of a query",
    ),
    "explode": ('    return orders.explode("product")', BODY, "explode needs a list, but product is text"),
    "str on int": (
        '    return orders.select("product", n=pl.col("quantity").str.len_chars())',
        BODY,
        'invalid series dtype: expected `String`, got `i64` for series with name `quantity`, in col("quantity").str.len_chars(): quantity is an integer; declare the column as another kind, or cast it, as in pl.col("n").cast(pl.Int64)',
    ),
    "concat": (
        '    return orders.select("product", n="quantity").concat(orders.select("product", n="paid"))',
        BODY,
        "concat: n is an integer and a decimal; give both the same type, with cast",
    ),
    "collect": (
        "    return orders.collect()",
        BODY,
        "a relation has no method collect; return the relation; Cauce runs it",
    ),
    "agg neg total": (
        '    return orders.group_by("product").agg(n=agg.sum("quantity")).with_columns(n=-pl.col("n"))',
        BODY,
        '`neg` operation not supported for dtype `i128`, in col("n").negate(): n is an integer; write 0 - pl.col("n")',
    ),
    "mode quant": (
        '    return orders.group_by("product").agg(n=agg.quantile("quantity", 50))',
        BODY,
        "quantile: q must be a number from 0 to 1, not 50",
    ),
    "agg typo kw": (
        '    return orders.group_by("product").agg(n=agg.sum(col="quantity"))',
        BODY,
        "sum() has no argument col; did you mean column?",
    ),
    "builtin sum": (
        '    return orders.group_by("product").agg(n=sum("quantity"))',
        BODY,
        "TypeError: unsupported operand type(s) for +: 'int' and 'str'; sum is Python's built-in function; write agg.sum(\"column\")",
    ),
}


def at(line: int, found: str) -> str:
    return f"shop.py, line {line}: {found}"


TABLES, PRODUCTS, DATASET = 4, 16, 18
IN_A_FILE = {
    "a syntax error": ("numbered))", "numbered", at(DATASET, "syntax error: '(' was never closed")),
    "a misspelt import": ("import *", "import descc", at(2, "cauce.plan has no descc; did you mean desc?")),
    "a missing module": (
        "import polars",
        "import pollars",
        at(1, "no module named pollars; install it where Cauce runs, or remove the import"),
    ),
    "a dataset under another name": (
        "dataset",
        "shop",
        "shop.py declares no dataset: assign a Dataset to the name dataset; rename shop to dataset",
    ),
    "a query without columns": (
        "product=TEXT, n=INTEGER",
        "",
        at(QUERY, "query q declares no columns; write @dataset.query(title=TEXT, n=INTEGER)"),
    ),
    "a decorator without parentheses": (
        "query(product=TEXT, n=INTEGER)",
        "query",
        at(
            QUERY,
            "query(): too many positional arguments; name the columns of the answer: "
            "@dataset.query(title=TEXT, n=INTEGER)",
        ),
    ),
    "an output that is a Python type": (
        "n=INTEGER",
        "n=int",
        at(
            QUERY,
            "query q: n=int is not an output; expected "
            "TEXT, INTEGER, FLOAT, DATE, TEXT_LIST, DECIMAL, decimal(n) or decimal(n, unscaled=True)",
        ),
    ),
    "decimal without a number": (
        "n=INTEGER",
        "n=decimal",
        at(QUERY, "query q: n needs a number of decimals; write n=decimal(2)"),
    ),
    "decimal of a text": (
        "n=INTEGER",
        'n=decimal("2")',
        at(QUERY, "decimal: its scale must be a whole number from 0 to 37, not '2'"),
    ),
    "decimal below zero": (
        "n=INTEGER",
        "n=decimal(-1, unscaled=True)",
        at(QUERY, "decimal: its scale must be a whole number from 0 to 37, not -1"),
    ),
    "an argument that is not a parameter": (
        "def q():",
        "def q(year):",
        at(
            QUERY,
            "shop.q: the function takes year, which is not a parameter of the dataset; "
            "declare it with Dataset(..., parameters=(Parameter(...),))",
        ),
    ),
    "a kind without parentheses": (
        "Identifier()",
        "Identifier",
        at(TABLES, "table orders, column order_id: write Identifier(), with parentheses"),
    ),
    "a delimiter of two characters": (
        "small=True",
        "delimiter=';;'",
        at(
            PRODUCTS,
            "table products: delimiter must be one ASCII character other than a quote or a line end, not ';;'",
        ),
    ),
    "a separator": (
        "small=True",
        "separator=';'",
        at(PRODUCTS, 'Table() has no argument separator; write delimiter=";"'),
    ),
    "a required column that is not there": (
        "small=True",
        "required='nam'",
        at(PRODUCTS, "table products: required names no column of it: nam; did you mean name?"),
    ),
    "a null text that is a number": (
        "small=True",
        "null=5",
        at(PRODUCTS, "table products: null must be the text that marks an empty cell, not 5"),
    ),
    "small as a text": (
        "small=True",
        "small='yes'",
        at(PRODUCTS, "table products: small must be True or False, not 'yes'"),
    ),
    "a pattern that is a number": (
        '"products.csv"',
        "5",
        at(PRODUCTS, 'table products: files must be a pattern such as "orders_*.csv", not 5'),
    ),
    "columns without kinds": (
        '{"product": Text(), "name": Text()}',
        '["product"]',
        at(
            PRODUCTS,
            'table products: columns must be names with kinds, such as {"order_id": Identifier(), "paid": Decimal()}',
        ),
    ),
    "decimals below zero": (
        "Decimal()",
        "Fixed(-1)",
        at(
            TABLES,
            "table orders, column paid: the decimals of Fixed must be a whole number from 0 to 18, not -1",
        ),
    ),
    "one table without brackets": (
        "(orders, products, numbered)",
        "orders",
        at(DATASET, "dataset shop: tables must be a tuple or list of tables, such as (orders,)"),
    ),
    "choices that are one text": (
        "numbered))",
        'numbered), (Parameter("year", "2024"),))',
        at(DATASET, 'parameter year: choices must be texts, such as ("2024", "2025")'),
    ),
}


def problem_of(folder: Path, code: str, monkeypatch: pytest.MonkeyPatch) -> PlanError:
    monkeypatch.chdir(folder)
    Path("shop.py").write_text(code, encoding="utf-8")
    with pytest.raises(PlanError) as caught:
        load("shop.py").plan()
    return caught.value


@pytest.mark.parametrize("mistake", IN_A_QUERY)
def test_a_mistake_in_a_query(mistake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body, line, expected = IN_A_QUERY[mistake]
    problem = problem_of(tmp_path, f"{START}{body}\n", monkeypatch)
    assert str(problem) == at(line, f"shop.q: {expected}")
    assert problem.__context__ is None or problem.__suppress_context__


@pytest.mark.parametrize("mistake", IN_A_FILE)
def test_a_mistake_in_a_file(mistake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new, expected = IN_A_FILE[mistake]
    assert old in START
    code = f"{START.replace(old, new)}    return orders.select('product', n='quantity')\n"
    assert str(problem_of(tmp_path, code, monkeypatch)) == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("x = 1\n", "shop.py declares no dataset: assign a Dataset to the name dataset"),
        (START.split("@")[0], "shop.py declares no queries: decorate functions with @dataset.query(...)"),
        ("import sys\nsys.exit(3)\n", at(2, "SystemExit: 3")),
    ],
)
def test_a_file_without_queries(code: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert str(problem_of(tmp_path, code, monkeypatch)) == expected


def test_the_same_file_without_a_mistake_is_planned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("shop.py").write_text(f"{START}    return orders.select('product', n='quantity')\n")
    assert list(load("shop.py").plan().results) == ["q"]


# As shown to users.


SHOWN = [
    "name error",
    *(pytest.param(each, marks=pytest.mark.slow) for each in ("exit", "filter and", "how outer", "sum text")),
]


@pytest.mark.parametrize("mistake", SHOWN)
def test_a_mistake_is_one_line_in_a_terminal(mistake: str, tmp_path: Path) -> None:
    body, line, expected = IN_A_QUERY[mistake]
    (tmp_path / "shop.py").write_text(f"{START}{body}\n")
    arguments = command("run", "shop.py", "--data", ".", "--out", "answers")
    session = run_in_terminal(arguments, cwd=tmp_path, width=400)
    assert session.code == 2
    assert session.text.splitlines() == [f"error [plan] {at(line, f'shop.q: {expected}')}"]
    assert not (tmp_path / "answers").exists()


def test_a_service_does_not_start_with_a_mistake(tmp_path: Path) -> None:
    body, line, expected = IN_A_QUERY["join names"]
    (tmp_path / "shop.py").write_text(f"{START}{body}\n")
    arguments = command("serve", "--dataset", "shop.py", "--dir", str(tmp_path / "service"), "--port", "0")
    session = run_in_terminal(arguments, cwd=tmp_path, width=400)
    assert session.code == 2
    assert session.text.splitlines() == [f"error [plan] {at(line, f'shop.q: {expected}')}"]


def test_a_mistake_raises_a_cauce_error_in_python(tmp_path: Path) -> None:
    body, line, expected = IN_A_QUERY["sort desc"]
    shop = tmp_path / "shop.py"
    shop.write_text(f"{START}{body}\n")
    with pytest.raises(PlanError) as caught:
        cauce.run(str(shop), tmp_path)
    assert str(caught.value) == f"{shop}, line {line}: shop.q: {expected}"


def test_an_unknown_query_has_a_hint(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(f"{START}    return orders.select('product', n='quantity')\n")
    run = command("run", "shop.py", "--data", ".", "--queries", "qq")
    ended = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.stderr == "error [unknown-name] unknown query of shop: qq; did you mean q? expected one of q\n"
    assert ended.returncode == 2
