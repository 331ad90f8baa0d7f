"""The coffee queries in pandas."""

from __future__ import annotations

import pandas as pd

from bench.peers.pandas.session import read, write
from bench.peers.task import Task

TRANSACTIONS = {
    "transaction_id": ("q1",),
    "store_id": ("q3", "q4"),
    "user_id": ("q4",),
    "final_amount": ("q1", "q3"),
    "created_at": ("q1", "q3", "q4"),
}
"""Columns, and for which queries they are read."""

ITEMS = ("item_id", "quantity", "subtotal", "created_at")
NUMBERS = {
    "store_id": "float64",
    "user_id": "float64",
    "final_amount": "float64",
    "item_id": "float64",
    "quantity": "float64",
    "subtotal": "float64",
}


def answer(task: Task) -> None:
    transactions = pd.DataFrame()
    if task.asks("q1", "q3", "q4"):
        needed = {name: name for name, queries in TRANSACTIONS.items() if task.asks(*queries)}
        transactions = in_years(read(task.months("transactions"), needed, NUMBERS))
    write(
        task,
        {
            "q1": lambda: large(in_hours(transactions)),
            "q2": lambda: leaders(
                sold(in_years(read(task.months("transaction_items"), dict(zip(ITEMS, ITEMS, strict=True)), NUMBERS))),
                menu(task),
            ),
            "q3": lambda: payments(paid(in_hours(transactions)), stores(task)),
            "q4": lambda: regulars(purchases(transactions), stores(task), births(task)),
        },
    )


def in_years(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[rows["created_at"].between("2024", "2026")]


def in_hours(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[rows["created_at"].str[11:].between("06:00:00", "23:00:00")]


def large(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.loc[rows["final_amount"] >= 75, ["transaction_id", "final_amount"]]


def _first(paths: str | list[str], key: str, shown: str) -> pd.Series:
    """The value shown for each id: that of its first row."""
    rows = read(paths, {key: key, shown: shown}, {key: "int64"})
    return rows.drop_duplicates(key).set_index(key)[shown]


def stores(task: Task) -> pd.Series:
    return _first(task.file("stores/stores.csv"), "store_id", "store_name")


def menu(task: Task) -> pd.Series:
    return _first(task.file("menu_items/menu_items.csv"), "item_id", "item_name")


def births(task: Task) -> pd.Series:
    return _first(task.months("users"), "user_id", "birthdate")


def _named(ids: pd.Series, names: pd.Series) -> pd.Series:
    return ids.map(names).fillna(ids.astype(str))


def _cents(amounts: pd.Series) -> pd.Series:
    """As integers, so that sums are exact."""
    return (amounts * 100).round().astype("int64")


def sold(items: pd.DataFrame) -> pd.DataFrame:
    """Sums of each month and item."""
    items = items.dropna(subset=["item_id", "quantity", "subtotal"])
    keys = [items["created_at"].str[:7].rename("month"), items["item_id"].astype("int64")]
    values = pd.DataFrame({"quantity": items["quantity"].astype("int64"), "cents": _cents(items["subtotal"])})
    return values.groupby(keys).sum().reset_index()


def leaders(sums: pd.DataFrame, names: pd.Series) -> pd.DataFrame:
    best = [
        sums.sort_values(["month", by, "item_id"], ascending=[True, False, True])
        .drop_duplicates("month")
        .assign(ranking=ranking)
        for ranking, by in (("quantity", "quantity"), ("profit", "cents"))
    ]
    found = pd.concat(best).sort_values(["month", "ranking"], ascending=[True, False])
    found = found.assign(item_name=_named(found["item_id"], names), profit=found["cents"] / 100)
    return found[["month", "ranking", "item_name", "quantity", "profit"]]


def paid(rows: pd.DataFrame) -> pd.DataFrame:
    """Sums of each semester and store."""
    rows = rows.dropna(subset=["store_id", "final_amount"])
    half = rows["created_at"].str[5:7].le("06").map({True: "-H1", False: "-H2"})
    keys = [(rows["created_at"].str[:4] + half).rename("semester"), rows["store_id"].astype("int64")]
    return _cents(rows["final_amount"]).groupby(keys).sum().rename("cents").reset_index()


def payments(sums: pd.DataFrame, names: pd.Series) -> pd.DataFrame:
    found = sums.assign(store_name=_named(sums["store_id"], names), tpv=sums["cents"] / 100)
    return found.sort_values(["semester", "store_name"])[["semester", "store_name", "tpv"]]


def purchases(rows: pd.DataFrame) -> pd.DataFrame:
    """How often each customer bought in each store."""
    known = rows.dropna(subset=["store_id", "user_id"])[["store_id", "user_id"]].astype("int64")
    return known.groupby(["store_id", "user_id"]).size().rename("purchases").reset_index()


def regulars(counts: pd.DataFrame, names: pd.Series, born: pd.Series) -> pd.DataFrame:
    ordered = counts.sort_values(["store_id", "purchases", "user_id"], ascending=[True, False, True])
    best = ordered.groupby("store_id").head(3)
    found = best.assign(store_name=_named(best["store_id"], names), birthdate=best["user_id"].map(born))
    found = found.sort_values(["store_name", "purchases", "user_id"], ascending=[True, False, True])
    return found[["store_name", "user_id", "birthdate", "purchases"]]
