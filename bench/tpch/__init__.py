"""The 22 queries of TPC-H with the validation parameters of the specification, and its tables."""

from __future__ import annotations

from pathlib import Path

from cauce.plan import Date, Fixed, Integer, Table, Text

_KINDS = {"i": Integer(), "t": Text(), "n": Fixed(2), "d": Date()}
_COLUMNS = {
    "region": "r_regionkey:i r_name:t r_comment:t",
    "nation": "n_nationkey:i n_name:t n_regionkey:i n_comment:t",
    "supplier": "s_suppkey:i s_name:t s_address:t s_nationkey:i s_phone:t s_acctbal:n s_comment:t",
    "part": "p_partkey:i p_name:t p_mfgr:t p_brand:t p_type:t p_size:i p_container:t p_retailprice:n p_comment:t",
    "partsupp": "ps_partkey:i ps_suppkey:i ps_availqty:i ps_supplycost:n ps_comment:t",
    "customer": "c_custkey:i c_name:t c_address:t c_nationkey:i c_phone:t c_acctbal:n c_mktsegment:t c_comment:t",
    "orders": "o_orderkey:i o_custkey:i o_orderstatus:t o_totalprice:n o_orderdate:d o_orderpriority:t o_clerk:t "
    "o_shippriority:i o_comment:t",
    "lineitem": "l_orderkey:i l_partkey:i l_suppkey:i l_linenumber:i l_quantity:n l_extendedprice:n l_discount:n "
    "l_tax:n l_returnflag:t l_linestatus:t l_shipdate:d l_commitdate:d l_receiptdate:d l_shipinstruct:t "
    "l_shipmode:t l_comment:t",
}


def tables() -> list[Table]:
    made = []
    for name, columns in _COLUMNS.items():
        pairs = [each.split(":") for each in columns.split()]
        made.append(Table(name, f"{name}.csv", {column: _KINDS[kind] for column, kind in pairs}))
    return made


def queries() -> dict[str, str]:
    """The SQL texts by name: q01 to q22."""
    files = sorted(Path(__file__).parent.glob("q*.sql"))
    return {file.stem: file.read_text() for file in files}


def script() -> str:
    """All queries as one text, each with its name."""
    return ";\n".join(f"-- name: {name}\n{text}" for name, text in queries().items())
