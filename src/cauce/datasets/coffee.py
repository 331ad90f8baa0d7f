"""Sales of a chain of coffee shops: four questions on transactions, items, stores and customers."""

from __future__ import annotations

from datetime import datetime, time
from pathlib import Path

import polars as pl

from cauce.datasets.calendar import months
from cauce.plan import (
    DATE,
    INTEGER,
    TEXT,
    Dataset,
    Date,
    Decimal,
    Identifier,
    Integer,
    Relation,
    Table,
    Text,
    Timestamp,
    agg,
    decimal,
    desc,
)

created_at = Timestamp("%Y-%m-%d %H:%M:%S")
menu_items = Table(
    "menu_items", "menu_items/menu_items.csv", {"item_id": Identifier(), "item_name": Text()}, small=True
)
stores = Table("stores", "stores/stores.csv", {"store_id": Identifier(), "store_name": Text()}, small=True)
users = Table("users", "users/users_*.csv", {"user_id": Identifier(), "birthdate": Date()})
transactions = Table(
    "transactions",
    "transactions/transactions_*.csv",
    {
        "transaction_id": Text(),
        "store_id": Identifier(),
        "user_id": Identifier(),
        "final_amount": Decimal(),
        "created_at": created_at,
    },
)
transaction_items = Table(
    "transaction_items",
    "transaction_items/transaction_items_*.csv",
    {"item_id": Identifier(), "quantity": Integer(), "subtotal": Decimal(), "created_at": created_at},
)
dataset = Dataset("coffee", (menu_items, stores, users, transactions, transaction_items), source=Path(__file__))

created = pl.col("created_at")
in_two_years = created.is_between(datetime(2024, 1, 1), datetime(2026, 1, 1), closed="left")
in_opening_hours = created.dt.time().is_between(time(6), time(23))
# Rows are grouped by numbers; texts are added to the groups, which are far fewer.
month_number = months("created_at")
store_names = stores.group_by("store_id").agg(name=agg.first("store_name"), rows=agg.count())
item_names = menu_items.group_by("item_id").agg(name=agg.first("item_name"), rows=agg.count())


def named(relation: Relation, names: Relation, key: str, column: str) -> Relation:
    """Replaces an id by its name; keeps the id if it has no row in `names`."""
    name = pl.when(pl.col("rows").is_null()).then(pl.col(key).cast(pl.String)).otherwise(pl.col("name"))
    return relation.join(names, on=key, how="left").with_columns(**{column: name})


def leaders(sold: Relation, ranking: str, cells: str) -> Relation:
    """The top item of each month. Excludes items without a non-null cell: their sum of 0 is not a sale."""
    return (
        sold.filter(pl.col(cells) > 0)
        .top_k(1, by=[desc(ranking), "item_id"], per="number")
        .with_columns(ranking=pl.lit(ranking))
    )


@dataset.query(transaction_id=TEXT, final_amount=decimal(2))
def q1() -> Relation:
    """Transactions of 2024 and 2025 between 06:00 and 23:00 of 75 or more"""
    return (
        transactions.filter(in_two_years, in_opening_hours, pl.col("final_amount") >= 75)
        .select("transaction_id", "final_amount")
        .in_input_order()
    )


@dataset.query(month=TEXT, ranking=TEXT, item_name=TEXT, quantity=INTEGER, profit=decimal(2))
def q2() -> Relation:
    """For each month of 2024 and 2025 the item sold most often and the one that brought most money"""
    sold = (
        transaction_items.filter(in_two_years)
        .with_columns(number=month_number)
        .group_by("number", "item_id")
        .agg(
            quantity=agg.sum("quantity"),
            profit=agg.sum("subtotal"),
            quantities=agg.count("quantity"),
            subtotals=agg.count("subtotal"),
        )
    )
    best = leaders(sold, "quantity", "quantities").concat(leaders(sold, "profit", "subtotals"))
    year, month = pl.col("number") // 12, pl.col("number") % 12 + 1
    text = year.cast(pl.String) + "-" + month.cast(pl.String).str.zfill(2)
    return named(best, item_names, "item_id", "item_name").with_columns(month=text).sort("month", desc("ranking"))


@dataset.query(semester=TEXT, store_name=TEXT, tpv=decimal(2))
def q3() -> Relation:
    """Total payment value of each semester and store, 2024 and 2025, between 06:00 and 23:00"""
    paid = (
        transactions.filter(in_two_years, in_opening_hours, pl.col("final_amount").is_not_null())
        .with_columns(half=month_number // 6)
        .group_by("half", "store_id")
        .agg(tpv=agg.sum("final_amount"))
        .with_columns(semester=(pl.col("half") // 2).cast(pl.String) + "-H" + (pl.col("half") % 2 + 1).cast(pl.String))
    )
    return named(paid, store_names, "store_id", "store_name").sort("semester", "store_name")


@dataset.query(store_name=TEXT, user_id=INTEGER, birthdate=DATE, purchases=INTEGER)
def q4() -> Relation:
    """For each store the 3 customers with most transactions in 2024 and 2025, with their birth dates"""
    best = (
        transactions.filter(pl.col("user_id").is_not_null(), in_two_years)
        .group_by("store_id", "user_id")
        .agg(purchases=agg.count())
        .top_k(3, by=[desc("purchases"), "user_id"], per="store_id")
    )
    # Few customers remain: reading users in a later pass keeps only their birth dates.
    births = (
        users.join(best, on="user_id", how="semi", strategy="broadcast")
        .group_by("user_id")
        .agg(birthdate=agg.first("birthdate"))
    )
    with_births = best.join(births, on="user_id", how="left")
    return named(with_births, store_names, "store_id", "store_name").sort("store_name", desc("purchases"), "user_id")
