"""A small dataset of one's own: a shop with products, orders and the ratings its customers gave.

    ./cauce run examples/my_shop.py --data examples/my_shop --out /tmp/my_shop_answers

Three files, some of their rows broken on purpose: what they cost stands in rejects.csv beside the answers.
"""

from pathlib import Path

import polars as pl

from cauce import (
    DECIMAL,
    FLOAT,
    INTEGER,
    TEXT,
    TEXT_LIST,
    Column,
    Dataset,
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
    decimal,
    desc,
    divide,
    ratio,
)

products = Table(
    "products",
    "products.csv",
    {"product": Column("sku", Text()), "name": Text(), "tags": TextList()},
    required=["product", "name"],
    small=True,
)
orders = Table(
    "orders",
    "orders/orders_*.csv",
    {
        "order_id": Identifier(),
        "customer": Column("customer_id", Identifier()),
        "product": Column("sku", Text()),
        "quantity": Integer(),
        "paid": Decimal(),
        "ordered_at": Timestamp(),
    },
)
ratings = Table("ratings", "ratings.csv", {"product": Column("sku", Text()), "stars": Decimal()})

dataset = Dataset(
    "my_shop",
    (products, orders, ratings),
    parameters=(Parameter("year", ("2024", "2025"), "the year whose orders count"),),
    source=Path(__file__),
)


def in_year(year: str) -> Relation:
    return orders.filter(pl.col("ordered_at").dt.year() == int(year))


@dataset.query(order_id=INTEGER, product=TEXT, paid=decimal(2))
def big_orders(year: str) -> Relation:
    """Orders of 100 or more, as they stand in the files"""
    return in_year(year).filter(pl.col("paid") >= 100).select("order_id", "product", "paid").in_input_order()


@dataset.query(name=TEXT, sold=INTEGER, income=decimal(2), customers=INTEGER)
def best_sellers(year: str) -> Relation:
    """The 3 products that brought most money"""
    return (
        in_year(year)
        .group_by("product")
        .agg(sold=agg.sum("quantity"), income=agg.sum("paid"), customers=agg.n_unique("customer"))
        .top_k(3, by=[desc("income"), "product"])
        .join(products, on="product")
        .sort(desc("income"), "name")
    )


@dataset.query(tag=TEXT, orders=INTEGER, products=TEXT_LIST)
def tags(year: str) -> Relation:
    """How often products of each tag were ordered, and which of them most often"""
    tagged = products.select("product", tag="tags").explode("tag")
    return (
        in_year(year)
        .join(tagged, on="product")
        .group_by("tag")
        .agg(orders=agg.count(), products=agg.mode("product"))
        .sort(desc("orders"), "tag")
    )


@dataset.query(order_id=INTEGER, paid=DECIMAL, mean_paid=FLOAT)
def above_mean(year: str) -> Relation:
    """Orders above the mean of all orders"""
    of_year = in_year(year).filter(pl.col("paid").is_not_null())
    return (
        of_year.with_scalars(of_year.agg(mean_paid=agg.mean("paid")))
        .filter(pl.col("paid").cast(pl.Float64) > pl.col("mean_paid"))
        .sort(desc("paid"), "order_id")
    )


@dataset.query(customer=INTEGER, spent=decimal(2))
def good_customers(year: str) -> Relation:
    """Customers whose spending reaches the 75th percentile"""
    spent = in_year(year).group_by("customer").agg(spent=agg.sum("paid"))
    limit = spent.agg(limit=agg.quantile("spent", 0.75))
    reaches = pl.col("spent").cast(pl.Float64) >= pl.col("limit")
    return spent.with_scalars(limit).filter(reaches).sort(desc("spent"), "customer")


@dataset.query(name=TEXT, rating=FLOAT, ratings=INTEGER)
def ranking() -> Relation:
    """Products by their mean rating; equal means are compared as exact fractions"""
    rated = (
        ratings.filter(pl.col("stars").is_not_null())
        .group_by("product")
        .agg(points=agg.sum("stars"), ratings=agg.count())
        .join(products, on="product")
    )
    return rated.with_columns(rating=divide("points", "ratings")).sort(desc(ratio("points", "ratings")), "name")
