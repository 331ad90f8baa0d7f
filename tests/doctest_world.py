"""The names that the examples in docstrings use: tables of a shop, of flights and of books."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl

import cauce
from cauce import (
    TEXT,
    Boolean,
    Dataset,
    Date,
    Decimal,
    Identifier,
    Integer,
    Parameter,
    Relation,
    Table,
    Text,
    TextList,
    Timestamp,
    agg,
    asc,
    decimal,
    desc,
    divide,
    divide_half_even,
    ratio,
    window,
)

_ORDER = {
    "order_id": Identifier(),
    "customer": Text(),
    "customer_id": Identifier(),
    "city": Text(),
    "store": Text(),
    "store_id": Identifier(),
    "store_name": Text(),
    "item": Text(),
    "day": Date(),
    "paid_at": Timestamp(),
    "paid": Decimal(),
    "amount": Decimal(),
    "price": Decimal(),
    "quantity": Integer(),
    "is_paid": Boolean(),
    "is_late": Boolean(),
}


def names() -> dict[str, Any]:
    """New objects for each example: some of them declare queries."""
    orders = Table("orders", "orders.csv", _ORDER)
    stores = Table("stores", "stores.csv", {"store_id": Identifier(), "area": Integer()}, small=True)
    prices = Table("prices", "prices.csv", {"item": Text(), "valid_from": Date(), "list_price": Decimal()}, small=True)
    sales = Table("sales", "sales.csv", {"shop": Text(), "day": Date(), "paid": Decimal()})
    return {
        "cauce": cauce,
        "pl": pl,
        "Path": Path,
        "__file__": __file__,
        "timedelta": timedelta,
        **{each.__name__: each for each in (Dataset, Identifier, Parameter, Relation, Table, Text)},
        **{each.__name__: each for each in (asc, decimal, desc, divide, divide_half_even, ratio)},
        "TEXT": TEXT,
        "agg": agg,
        "window": window,
        "orders": orders,
        "stores": stores,
        "prices": prices,
        "sales": sales,
        "users": Table("users", "users.csv", {"user_id": Identifier(), "birthdate": Date()}),
        "flights": Table("flights", "flights.csv", {"origin": Text(), "fare": Decimal()}),
        "books": Table("books", "books.csv", {"title": Text(), "authors": TextList()}),
        "rated": Table("rated", "rated.csv", {"points": Integer(), "votes": Integer()}),
        "sold": Table("sold", "sold.csv", {"cents": Integer(), "sales": Integer()}),
        "online": Table("online", "online.csv", _ORDER),
        "in_store": Table("in_store", "in_store.csv", _ORDER),
        "dataset": Dataset("shop", (orders, stores, prices)),
    }
