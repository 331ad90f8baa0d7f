"""The coffee queries in Dask: sums of each month, then sums of those."""

from __future__ import annotations

import dask

from bench.peers.dask.session import read, start
from bench.peers.pandas import coffee as small
from bench.peers.pandas.session import write
from bench.peers.task import Task


def answer(task: Task) -> None:
    start(task)
    parts = {}
    if task.asks("q1", "q3", "q4"):
        needed = {name: name for name, queries in small.TRANSACTIONS.items() if task.asks(*queries)}
        transactions = read(task.months("transactions"), needed, small.NUMBERS)
        in_years = transactions[transactions["created_at"].between("2024", "2026")]
        in_hours = in_years[in_years["created_at"].str.slice(11).between("06:00:00", "23:00:00")]
        if task.asks("q1"):
            parts["large"] = in_hours.loc[in_hours["final_amount"] >= 75, ["transaction_id", "final_amount"]]
        if task.asks("q3"):
            parts["paid"] = in_hours.map_partitions(small.paid)
        if task.asks("q4"):
            known = in_years.dropna(subset=["store_id", "user_id"])
            parts["purchases"] = known.groupby(["store_id", "user_id"]).size()
    if task.asks("q2"):
        items = read(task.months("transaction_items"), {name: name for name in small.ITEMS}, small.NUMBERS)
        parts["sold"] = items[items["created_at"].between("2024", "2026")].map_partitions(small.sold)
    found = dict(zip(parts, dask.compute(*parts.values()), strict=True))
    write(
        task,
        {
            "q1": lambda: found["large"],
            "q2": lambda: small.leaders(
                found["sold"].groupby(["month", "item_id"]).sum().reset_index(), small.menu(task)
            ),
            "q3": lambda: small.payments(
                found["paid"].groupby(["semester", "store_id"]).sum().reset_index(), small.stores(task)
            ),
            "q4": lambda: small.regulars(
                found["purchases"].rename("purchases").reset_index().astype("int64"),
                small.stores(task),
                small.births(task),
            ),
        },
    )
