"""A dataset of orders with times, some of them in another form than the dataset declares."""

from __future__ import annotations

from pathlib import Path

ORDERS = "id,when,paid\n"

DATASET = """
from pathlib import Path

import polars as pl

from cauce.plan import DATE, INTEGER, Dataset, Decimal, Identifier, Relation, Table, Timestamp, agg, decimal

orders = Table("orders", "orders.csv", {"id": Identifier(), "when": Timestamp(), "paid": Decimal()})
dataset = Dataset("shop", (orders,), source=Path(__file__))


@dataset.query(day=DATE, orders=INTEGER, paid=decimal(2))
def days() -> Relation:
    '''Orders of each day'''
    by_day = orders.with_columns(day=pl.col("when").dt.date()).group_by("day")
    return by_day.agg(orders=agg.count(), paid=agg.sum("paid")).sort("day")


@dataset.query(paid=decimal(2))
def income() -> Relation:
    '''All that was paid'''
    return orders.agg(paid=agg.sum("paid"))
"""


def shop(folder: Path, *rows: str) -> Path:
    """A dataset file and its data; returns the file. Rows are lines of `id,when,paid`."""
    data = folder / "data"
    data.mkdir()
    (data / "orders.csv").write_text(ORDERS + "".join(row + "\n" for row in rows))
    file = folder / "shop.py"
    file.write_text(DATASET)
    return file


def zoned_rows(good: int, zoned: int, unpaid: int = 0) -> list[str]:
    """Rows with times that can be read, then with an offset; the first ones have an unreadable amount too."""
    times = ["2024-01-02T03:04:05.678"] * good + ["2024-01-02T03:04:05Z"] * zoned
    return [f"{number},{time},{'n/a' if number < unpaid else '1.50'}" for number, time in enumerate(times)]
