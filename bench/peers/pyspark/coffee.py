"""The coffee queries in PySpark."""

from __future__ import annotations

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as fn

from bench.peers.pyspark.session import read, spark, write
from bench.peers.task import Task

TRANSACTIONS = ("transaction_id", "store_id", "user_id", "final_amount", "created_at")
ITEMS = ("item_id", "quantity", "subtotal", "created_at")
IN_YEARS = "created_at >= '2024' AND created_at < '2026'"


def answer(task: Task) -> None:
    with spark(task) as session:
        transactions = (
            read(session, task.months("transactions"), {name: name for name in TRANSACTIONS})
            .where(IN_YEARS)
            .withColumn("final_amount", fn.col("final_amount").cast("decimal(12, 2)"))
            .persist(StorageLevel.MEMORY_AND_DISK)
        )
        in_hours = transactions.where(fn.substring("created_at", 12, 8).between("06:00:00", "23:00:00"))
        stores = _first(session, task.file("stores/stores.csv"), "store_id", "store_name")
        write(
            task,
            {
                "q1": lambda: in_hours.where("final_amount >= 75").select("transaction_id", "final_amount"),
                "q2": lambda: _leaders(session, task),
                "q3": lambda: _payments(in_hours, stores),
                "q4": lambda: _regulars(session, transactions, stores, task),
            },
        )


def _first(session: SparkSession, paths: str | list[str], key: str, shown: str) -> DataFrame:
    """The value shown for each id. Ids are unique in these files."""
    rows = read(session, paths, {key: key, shown: shown})
    return rows.withColumn(key, fn.col(key).cast("bigint")).dropDuplicates([key])


def _named(name: str, key: str) -> Column:
    return fn.coalesce(fn.col(name), fn.col(key).cast("string")).alias(name)


def _leaders(session: SparkSession, task: Task) -> DataFrame:
    sold = (
        read(session, task.months("transaction_items"), {name: name for name in ITEMS})
        .where(IN_YEARS)
        .groupBy(fn.substring("created_at", 1, 7).alias("month"), fn.col("item_id").cast("bigint"))
        .agg(
            fn.sum(fn.col("quantity").cast("bigint")).alias("quantity"),
            fn.sum(fn.col("subtotal").cast("decimal(12, 2)")).alias("profit"),
        )
        .cache()
    )
    best = [
        sold.withColumn("place", fn.row_number().over(Window.partitionBy("month").orderBy(fn.desc(ranking), "item_id")))
        .where("place = 1")
        .withColumn("ranking", fn.lit(ranking))
        for ranking in ("quantity", "profit")
    ]
    names = _first(session, task.file("menu_items/menu_items.csv"), "item_id", "item_name")
    return (
        best[0]
        .union(best[1])
        .join(fn.broadcast(names), "item_id", "left")
        .select("month", "ranking", _named("item_name", "item_id"), "quantity", "profit")
        .sort("month", fn.desc("ranking"))
    )


def _payments(in_hours: DataFrame, stores: DataFrame) -> DataFrame:
    half = fn.when(fn.substring("created_at", 6, 2) <= "06", "-H1").otherwise("-H2")
    semester = fn.concat(fn.substring("created_at", 1, 4), half).alias("semester")
    return (
        in_hours.dropna(subset=["store_id", "final_amount"])
        .groupBy(semester, fn.col("store_id").cast("bigint"))
        .agg(fn.sum("final_amount").alias("tpv"))
        .join(fn.broadcast(stores), "store_id", "left")
        .select("semester", _named("store_name", "store_id"), "tpv")
        .sort("semester", "store_name")
    )


def _regulars(session: SparkSession, transactions: DataFrame, stores: DataFrame, task: Task) -> DataFrame:
    births = _first(session, task.months("users"), "user_id", "birthdate")
    place = fn.row_number().over(Window.partitionBy("store_id").orderBy(fn.desc("purchases"), "user_id"))
    return (
        transactions.dropna(subset=["store_id", "user_id"])
        .groupBy(fn.col("store_id").cast("bigint"), fn.col("user_id").cast("double").cast("bigint").alias("user_id"))
        .agg(fn.count("*").alias("purchases"))
        .withColumn("place", place)
        .where("place <= 3")
        .join(fn.broadcast(stores), "store_id", "left")
        .join(births, "user_id", "left")
        .select(_named("store_name", "store_id"), "user_id", "birthdate", "purchases")
        .sort("store_name", fn.desc("purchases"), "user_id")
    )
