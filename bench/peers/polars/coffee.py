"""The coffee queries in Polars."""

from __future__ import annotations

import polars as pl

from bench.peers.polars.session import scan, write
from bench.peers.task import Task

IN_YEARS = pl.col("created_at").is_between(pl.lit("2024"), pl.lit("2026"))
IN_HOURS = pl.col("created_at").str.slice(11).is_between(pl.lit("06:00:00"), pl.lit("23:00:00"))


def answer(task: Task) -> None:
    transactions = scan(
        task.months("transactions"),
        transaction_id="transaction_id",
        store_id="store_id",
        user_id="user_id",
        final_amount="final_amount",
        created_at="created_at",
    ).filter(IN_YEARS)
    in_hours = transactions.filter(IN_HOURS).with_columns(pl.col("final_amount").cast(pl.Float64))
    stores = _first(task.file("stores/stores.csv"), "store_id", "store_name")
    write(
        task,
        {
            "q1": in_hours.filter(pl.col("final_amount") >= 75).select("transaction_id", "final_amount"),
            "q2": _leaders(task),
            "q3": _payments(in_hours, stores),
            "q4": _regulars(transactions, stores, task),
        },
    )


def _first(paths: str | list[str], key: str, shown: str) -> pl.LazyFrame:
    """A name for each id: that of the first row."""
    return (
        scan(paths, **{key: key, shown: shown})
        .unique(key, keep="first", maintain_order=True)
        .with_columns(pl.col(key).cast(pl.Int64))
    )


def _cents(column: str) -> pl.Expr:
    return (pl.col(column).cast(pl.Float64) * 100).round().cast(pl.Int64)


def _leaders(task: Task) -> pl.LazyFrame:
    sold = (
        scan(
            task.months("transaction_items"),
            item_id="item_id",
            quantity="quantity",
            subtotal="subtotal",
            created_at="created_at",
        )
        .filter(IN_YEARS)
        .group_by(month=pl.col("created_at").str.head(7), item_id=pl.col("item_id").cast(pl.Int64))
        .agg(pl.col("quantity").cast(pl.Int64).sum(), cents=_cents("subtotal").sum())
        .with_columns(profit=pl.col("cents") / 100)
    )
    best = [
        sold.sort("month", by, "item_id", descending=[False, True, False])
        .unique("month", keep="first", maintain_order=True)
        .with_columns(ranking=pl.lit(ranking))
        for ranking, by in (("quantity", "quantity"), ("profit", "cents"))
    ]
    names = _first(task.file("menu_items/menu_items.csv"), "item_id", "item_name")
    return (
        pl.concat(best)
        .join(names, on="item_id", how="left")
        .select("month", "ranking", _named("item_name", "item_id"), "quantity", "profit")
        .sort("month", "ranking", descending=[False, True])
    )


def _payments(in_hours: pl.LazyFrame, stores: pl.LazyFrame) -> pl.LazyFrame:
    half = pl.when(pl.col("created_at").str.slice(5, 2) <= "06").then(pl.lit("-H1")).otherwise(pl.lit("-H2"))
    return (
        in_hours.drop_nulls(["store_id", "final_amount"])
        .group_by(semester=pl.col("created_at").str.head(4) + half, store_id=pl.col("store_id").cast(pl.Int64))
        .agg(tpv=_cents("final_amount").sum() / 100)
        .join(stores, on="store_id", how="left")
        .select("semester", _named("store_name", "store_id"), "tpv")
        .sort("semester", "store_name")
    )


def _regulars(transactions: pl.LazyFrame, stores: pl.LazyFrame, task: Task) -> pl.LazyFrame:
    births = _first(task.months("users"), "user_id", "birthdate")
    return (
        transactions.drop_nulls(["user_id", "store_id"])
        .group_by(pl.col("store_id").cast(pl.Int64), pl.col("user_id").cast(pl.Float64).cast(pl.Int64))
        .agg(purchases=pl.len())
        .sort("store_id", "purchases", "user_id", descending=[False, True, False])
        .group_by("store_id", maintain_order=True)
        .head(3)
        .join(stores, on="store_id", how="left")
        .join(births, on="user_id", how="left")
        .select(_named("store_name", "store_id"), "user_id", "birthdate", "purchases")
        .sort("store_name", "purchases", "user_id", descending=[False, True, False])
    )


def _named(name: str, key: str) -> pl.Expr:
    return pl.coalesce(name, pl.col(key).cast(pl.String)).alias(name)
