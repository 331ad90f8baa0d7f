"""The 22 queries of TPC-H as Polars expressions. Each takes the tables as attributes of one object."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import NamedTuple

import polars as pl
from polars import col


class Tables(NamedTuple):
    region: pl.LazyFrame
    nation: pl.LazyFrame
    supplier: pl.LazyFrame
    part: pl.LazyFrame
    partsupp: pl.LazyFrame
    customer: pl.LazyFrame
    orders: pl.LazyFrame
    lineitem: pl.LazyFrame


REVENUE = col("l_extendedprice") * (1 - col("l_discount"))


def _between(column: str, first: date, before: date) -> pl.Expr:
    return (col(column) >= first) & (col(column) < before)


def _sum(values: pl.Expr) -> pl.Expr:
    """The sum as in SQL: null without values."""
    return pl.when(pl.len() > 0).then(values.sum())


def q01(t: Tables) -> pl.LazyFrame:
    charged = REVENUE * (1 + col("l_tax"))
    return (
        t.lineitem.filter(col("l_shipdate") <= date(1998, 9, 2))
        .group_by("l_returnflag", "l_linestatus")
        .agg(
            col("l_quantity").sum().alias("sum_qty"),
            col("l_extendedprice").sum().alias("sum_base_price"),
            REVENUE.sum().alias("sum_disc_price"),
            charged.sum().alias("sum_charge"),
            col("l_quantity").mean().alias("avg_qty"),
            col("l_extendedprice").mean().alias("avg_price"),
            col("l_discount").mean().alias("avg_disc"),
            pl.len().alias("count_order"),
        )
        .sort("l_returnflag", "l_linestatus")
    )


def q02(t: Tables) -> pl.LazyFrame:
    offers = (
        t.partsupp.join(t.supplier, left_on="ps_suppkey", right_on="s_suppkey")
        .join(t.nation, left_on="s_nationkey", right_on="n_nationkey")
        .join(t.region.filter(col("r_name") == "EUROPE"), left_on="n_regionkey", right_on="r_regionkey")
    )
    parts = t.part.filter((col("p_size") == 15) & col("p_type").str.ends_with("BRASS"))
    found = parts.join(offers, left_on="p_partkey", right_on="ps_partkey")
    return (
        found.filter(col("ps_supplycost") == col("ps_supplycost").min().over("p_partkey"))
        .select("s_acctbal", "s_name", "n_name", "p_partkey", "p_mfgr", "s_address", "s_phone", "s_comment")
        .sort("s_acctbal", "n_name", "s_name", "p_partkey", descending=[True, False, False, False])
        .head(100)
    )


def q03(t: Tables) -> pl.LazyFrame:
    return (
        t.customer.filter(col("c_mktsegment") == "BUILDING")
        .join(t.orders.filter(col("o_orderdate") < date(1995, 3, 15)), left_on="c_custkey", right_on="o_custkey")
        .join(t.lineitem.filter(col("l_shipdate") > date(1995, 3, 15)), left_on="o_orderkey", right_on="l_orderkey")
        .group_by("o_orderkey", "o_orderdate", "o_shippriority")
        .agg(REVENUE.sum().alias("revenue"))
        .select("o_orderkey", "revenue", "o_orderdate", "o_shippriority")
        .sort("revenue", "o_orderdate", descending=[True, False])
        .head(10)
    )


def q04(t: Tables) -> pl.LazyFrame:
    late = t.lineitem.filter(col("l_commitdate") < col("l_receiptdate"))
    return (
        t.orders.filter(_between("o_orderdate", date(1993, 7, 1), date(1993, 10, 1)))
        .join(late, left_on="o_orderkey", right_on="l_orderkey", how="semi")
        .group_by("o_orderpriority")
        .agg(pl.len().alias("order_count"))
        .sort("o_orderpriority")
    )


def q05(t: Tables) -> pl.LazyFrame:
    return (
        t.region.filter(col("r_name") == "ASIA")
        .join(t.nation, left_on="r_regionkey", right_on="n_regionkey")
        .join(t.customer, left_on="n_nationkey", right_on="c_nationkey")
        .join(
            t.orders.filter(_between("o_orderdate", date(1994, 1, 1), date(1995, 1, 1))),
            left_on="c_custkey",
            right_on="o_custkey",
        )
        .join(t.lineitem, left_on="o_orderkey", right_on="l_orderkey")
        .join(t.supplier, left_on=["l_suppkey", "n_nationkey"], right_on=["s_suppkey", "s_nationkey"])
        .group_by("n_name")
        .agg(REVENUE.sum().alias("revenue"))
        .sort("revenue", descending=True)
    )


def q06(t: Tables) -> pl.LazyFrame:
    return t.lineitem.filter(
        _between("l_shipdate", date(1994, 1, 1), date(1995, 1, 1)),
        col("l_discount").is_between(0.05, 0.07),
        col("l_quantity") < 24,
    ).select((col("l_extendedprice") * col("l_discount")).sum().alias("revenue"))


def q07(t: Tables) -> pl.LazyFrame:
    nations = t.nation.filter(col("n_name").is_in(["FRANCE", "GERMANY"])).select("n_nationkey", "n_name")
    suppliers = t.supplier.join(
        nations.rename({"n_name": "supp_nation"}), left_on="s_nationkey", right_on="n_nationkey"
    )
    customers = t.customer.join(
        nations.rename({"n_name": "cust_nation"}), left_on="c_nationkey", right_on="n_nationkey"
    )
    return (
        t.lineitem.filter(col("l_shipdate").is_between(date(1995, 1, 1), date(1996, 12, 31)))
        .join(suppliers, left_on="l_suppkey", right_on="s_suppkey")
        .join(t.orders, left_on="l_orderkey", right_on="o_orderkey")
        .join(customers, left_on="o_custkey", right_on="c_custkey")
        .filter(col("supp_nation") != col("cust_nation"))
        .group_by("supp_nation", "cust_nation", col("l_shipdate").dt.year().alias("l_year"))
        .agg(REVENUE.sum().alias("revenue"))
        .sort("supp_nation", "cust_nation", "l_year")
    )


def q08(t: Tables) -> pl.LazyFrame:
    american = t.nation.join(
        t.region.filter(col("r_name") == "AMERICA"), left_on="n_regionkey", right_on="r_regionkey", how="semi"
    )
    volume = col("volume")
    return (
        t.part.filter(col("p_type") == "ECONOMY ANODIZED STEEL")
        .join(t.lineitem, left_on="p_partkey", right_on="l_partkey")
        .join(
            t.orders.filter(col("o_orderdate").is_between(date(1995, 1, 1), date(1996, 12, 31))),
            left_on="l_orderkey",
            right_on="o_orderkey",
        )
        .join(t.customer, left_on="o_custkey", right_on="c_custkey")
        .join(american, left_on="c_nationkey", right_on="n_nationkey", how="semi")
        .join(t.supplier, left_on="l_suppkey", right_on="s_suppkey")
        .join(t.nation, left_on="s_nationkey", right_on="n_nationkey")
        .select(col("o_orderdate").dt.year().alias("o_year"), REVENUE.alias("volume"), "n_name")
        .group_by("o_year")
        .agg((volume.filter(col("n_name") == "BRAZIL").sum() / volume.sum()).alias("mkt_share"))
        .sort("o_year")
    )


def q09(t: Tables) -> pl.LazyFrame:
    return (
        t.part.filter(col("p_name").str.contains("green", literal=True))
        .join(t.lineitem, left_on="p_partkey", right_on="l_partkey")
        .join(t.partsupp, left_on=["p_partkey", "l_suppkey"], right_on=["ps_partkey", "ps_suppkey"])
        .join(t.supplier, left_on="l_suppkey", right_on="s_suppkey")
        .join(t.nation, left_on="s_nationkey", right_on="n_nationkey")
        .join(t.orders, left_on="l_orderkey", right_on="o_orderkey")
        .group_by(col("n_name").alias("nation"), col("o_orderdate").dt.year().alias("o_year"))
        .agg((REVENUE - col("ps_supplycost") * col("l_quantity")).sum().alias("sum_profit"))
        .sort("nation", "o_year", descending=[False, True])
    )


def q10(t: Tables) -> pl.LazyFrame:
    shown = ["c_custkey", "c_name", "revenue", "c_acctbal", "n_name", "c_address", "c_phone", "c_comment"]
    return (
        t.orders.filter(_between("o_orderdate", date(1993, 10, 1), date(1994, 1, 1)))
        .join(t.lineitem.filter(col("l_returnflag") == "R"), left_on="o_orderkey", right_on="l_orderkey")
        .group_by("o_custkey")
        .agg(REVENUE.sum().alias("revenue"))
        .join(t.customer, left_on="o_custkey", right_on="c_custkey")
        .join(t.nation, left_on="c_nationkey", right_on="n_nationkey")
        .rename({"o_custkey": "c_custkey"})
        .select(shown)
        .sort("revenue", descending=True)
        .head(20)
    )


def q11(t: Tables) -> pl.LazyFrame:
    value = (
        t.partsupp.join(t.supplier, left_on="ps_suppkey", right_on="s_suppkey")
        .join(t.nation.filter(col("n_name") == "GERMANY"), left_on="s_nationkey", right_on="n_nationkey")
        .group_by("ps_partkey")
        .agg((col("ps_supplycost") * col("ps_availqty")).sum().alias("value"))
    )
    return value.filter(col("value") > col("value").sum() * 0.0001).sort("value", descending=True)


def q12(t: Tables) -> pl.LazyFrame:
    urgent = col("o_orderpriority").is_in(["1-URGENT", "2-HIGH"])
    return (
        t.lineitem.filter(
            col("l_shipmode").is_in(["MAIL", "SHIP"]),
            col("l_commitdate") < col("l_receiptdate"),
            col("l_shipdate") < col("l_commitdate"),
            _between("l_receiptdate", date(1994, 1, 1), date(1995, 1, 1)),
        )
        .join(t.orders, left_on="l_orderkey", right_on="o_orderkey")
        .group_by("l_shipmode")
        .agg(urgent.sum().alias("high_line_count"), (~urgent).sum().alias("low_line_count"))
        .sort("l_shipmode")
    )


def q13(t: Tables) -> pl.LazyFrame:
    return (
        t.customer.join(
            t.orders.filter(~col("o_comment").str.contains("special.*requests")),
            left_on="c_custkey",
            right_on="o_custkey",
            how="left",
        )
        .group_by("c_custkey")
        .agg(col("o_orderkey").count().alias("c_count"))
        .group_by("c_count")
        .agg(pl.len().alias("custdist"))
        .sort("custdist", "c_count", descending=True)
    )


def q14(t: Tables) -> pl.LazyFrame:
    promoted = REVENUE.filter(col("p_type").str.starts_with("PROMO")).sum()
    return (
        t.lineitem.filter(_between("l_shipdate", date(1995, 9, 1), date(1995, 10, 1)))
        .join(t.part, left_on="l_partkey", right_on="p_partkey")
        .select((100.0 * promoted / REVENUE.sum()).alias("promo_revenue"))
    )


def q15(t: Tables) -> pl.LazyFrame:
    return (
        t.lineitem.filter(_between("l_shipdate", date(1996, 1, 1), date(1996, 4, 1)))
        .group_by("l_suppkey")
        .agg(REVENUE.sum().alias("total_revenue"))
        .filter(col("total_revenue") == col("total_revenue").max())
        .join(t.supplier, left_on="l_suppkey", right_on="s_suppkey")
        .select(col("l_suppkey").alias("s_suppkey"), "s_name", "s_address", "s_phone", "total_revenue")
        .sort("s_suppkey")
    )


def q16(t: Tables) -> pl.LazyFrame:
    complaints = t.supplier.filter(col("s_comment").str.contains("Customer.*Complaints"))
    return (
        t.part.filter(
            col("p_brand") != "Brand#45",
            ~col("p_type").str.starts_with("MEDIUM POLISHED"),
            col("p_size").is_in([49, 14, 23, 45, 19, 3, 36, 9]),
        )
        .join(t.partsupp, left_on="p_partkey", right_on="ps_partkey")
        .join(complaints, left_on="ps_suppkey", right_on="s_suppkey", how="anti")
        .group_by("p_brand", "p_type", "p_size")
        .agg(col("ps_suppkey").n_unique().alias("supplier_cnt"))
        .sort("supplier_cnt", "p_brand", "p_type", "p_size", descending=[True, False, False, False])
    )


def q17(t: Tables) -> pl.LazyFrame:
    return (
        t.part.filter((col("p_brand") == "Brand#23") & (col("p_container") == "MED BOX"))
        .join(t.lineitem, left_on="p_partkey", right_on="l_partkey")
        .filter(col("l_quantity") < 0.2 * col("l_quantity").mean().over("p_partkey"))
        .select((_sum(col("l_extendedprice")) / 7.0).alias("avg_yearly"))
    )


def q18(t: Tables) -> pl.LazyFrame:
    large = t.lineitem.group_by("l_orderkey").agg(col("l_quantity").sum()).filter(col("l_quantity") > 300)
    return (
        t.orders.join(large, left_on="o_orderkey", right_on="l_orderkey")
        .join(t.customer, left_on="o_custkey", right_on="c_custkey")
        .select("c_name", col("o_custkey"), "o_orderkey", "o_orderdate", "o_totalprice", "l_quantity")
        .sort("o_totalprice", "o_orderdate", descending=[True, False])
        .head(100)
    )


def q19(t: Tables) -> pl.LazyFrame:
    def kind(brand: str, size: str, packages: str, least: int, most_size: int) -> pl.Expr:
        containers = [f"{size} {each}" for each in packages.split()]
        return (
            (col("p_brand") == brand)
            & col("p_container").is_in(containers)
            & col("l_quantity").is_between(least, least + 10)
            & col("p_size").is_between(1, most_size)
        )

    return (
        t.lineitem.filter(col("l_shipmode").is_in(["AIR", "AIR REG"]), col("l_shipinstruct") == "DELIVER IN PERSON")
        .join(t.part, left_on="l_partkey", right_on="p_partkey")
        .filter(
            kind("Brand#12", "SM", "CASE BOX PACK PKG", 1, 5)
            | kind("Brand#23", "MED", "BAG BOX PKG PACK", 10, 10)
            | kind("Brand#34", "LG", "CASE BOX PACK PKG", 20, 15)
        )
        .select(_sum(REVENUE).alias("revenue"))
    )


def q20(t: Tables) -> pl.LazyFrame:
    sold = (
        t.lineitem.filter(_between("l_shipdate", date(1994, 1, 1), date(1995, 1, 1)))
        .group_by("l_partkey", "l_suppkey")
        .agg((0.5 * col("l_quantity").sum()).alias("half"))
    )
    offers = (
        t.partsupp.join(
            t.part.filter(col("p_name").str.starts_with("forest")),
            left_on="ps_partkey",
            right_on="p_partkey",
            how="semi",
        )
        .join(sold, left_on=["ps_partkey", "ps_suppkey"], right_on=["l_partkey", "l_suppkey"])
        .filter(col("ps_availqty") > col("half"))
    )
    return (
        t.supplier.join(offers, left_on="s_suppkey", right_on="ps_suppkey", how="semi")
        .join(t.nation.filter(col("n_name") == "CANADA"), left_on="s_nationkey", right_on="n_nationkey", how="semi")
        .select("s_name", "s_address")
        .sort("s_name")
    )


def q21(t: Tables) -> pl.LazyFrame:
    late = col("l_receiptdate") > col("l_commitdate")
    waiting = t.lineitem.group_by("l_orderkey").agg(
        col("l_suppkey").n_unique().alias("suppliers"), col("l_suppkey").filter(late).n_unique().alias("late_suppliers")
    )
    blamed = waiting.filter((col("suppliers") > 1) & (col("late_suppliers") == 1))
    return (
        t.supplier.join(t.nation.filter(col("n_name") == "SAUDI ARABIA"), left_on="s_nationkey", right_on="n_nationkey")
        .join(t.lineitem.filter(late), left_on="s_suppkey", right_on="l_suppkey")
        .join(t.orders.filter(col("o_orderstatus") == "F"), left_on="l_orderkey", right_on="o_orderkey")
        .join(blamed, on="l_orderkey", how="semi")
        .group_by("s_name")
        .agg(pl.len().alias("numwait"))
        .sort("numwait", "s_name", descending=[True, False])
        .head(100)
    )


def q22(t: Tables) -> pl.LazyFrame:
    customers = t.customer.with_columns(cntrycode=col("c_phone").str.slice(0, 2)).filter(
        col("cntrycode").is_in(["13", "31", "23", "29", "30", "18", "17"])
    )
    return (
        customers.filter(col("c_acctbal") > col("c_acctbal").filter(col("c_acctbal") > 0).mean())
        .join(t.orders, left_on="c_custkey", right_on="o_custkey", how="anti")
        .group_by("cntrycode")
        .agg(pl.len().alias("numcust"), col("c_acctbal").sum().alias("totacctbal"))
        .sort("cntrycode")
    )


QUERIES: tuple[Callable[[Tables], pl.LazyFrame], ...] = (
    q01, q02, q03, q04, q05, q06, q07, q08, q09, q10, q11, q12, q13, q14, q15, q16, q17, q18, q19, q20, q21, q22
)  # fmt: skip
