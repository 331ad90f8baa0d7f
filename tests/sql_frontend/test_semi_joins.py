"""Semi-join filters: which tables are scanned with the keys of others, and that no answer changes by it."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.tpch import queries
from cauce.plan.nodes import Join, KeyFilter, Node, Receive, Scan
from cauce.plan.physical import Plan, walk
from cauce.process.memory_limit import FOLD_FACTOR, MemoryBudget
from cauce.sql_frontend.dataset import sql_dataset
from tests.sql_frontend.runs import Both
from tests.sql_frontend.test_join_order import catalogue

QUERIES = queries()


def planned(text: str) -> Plan:
    return sql_dataset(text, catalogue()).plan()


def filters(plan: Plan) -> set[tuple[str, str, str]]:
    """Filtered table, its column, and the table or the fold that the keys come from."""
    return {
        (scan.table.name, node.on[0], _source(plan, node.right))
        for stage in plan.stages
        for root in stage.roots
        for node in walk(root)
        if isinstance(node, Join) and node.how == "semi" and (scan := _filtered_scan(node)) is not None
    }


def _filtered_scan(node: Node) -> Scan | None:
    """The scan directly below semi-joins."""
    while isinstance(node, Join) and node.how == "semi":
        node = node.left
    return node if isinstance(node, Scan) else None


def _source(plan: Plan, node: Node) -> str:
    assert isinstance(node, Receive)
    sender = next(stage for stage in plan.stages if node.edge in {edge.number for edge in stage.sends})
    return sender.table.name if sender.table is not None else sender.name


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("q02", ("partsupp", "ps_partkey", "part")),
        ("q03", ("orders", "o_custkey", "customer")),
        ("q04", ("lineitem", "l_orderkey", "orders")),
        ("q05", ("orders", "o_custkey", "customer")),
        ("q05", ("customer", "c_nationkey", "nation")),
        ("q05", ("nation", "n_regionkey", "region")),
        ("q07", ("customer", "c_nationkey", "nation")),
        ("q09", ("partsupp", "ps_partkey", "part")),
        ("q17", ("lineitem", "l_partkey", "part")),
        ("q18", ("lineitem", "l_orderkey", "group by l_orderkey~2")),
        ("q18", ("orders", "o_orderkey", "group by l_orderkey~2")),
        ("q20", ("lineitem", "l_partkey", "part")),
        ("q21", ("lineitem", "l_orderkey", "lineitem")),
    ],
)
def test_large_side_is_scanned_with_the_keys_of_the_small_one(query: str, expected: tuple[str, str, str]) -> None:
    assert expected in filters(planned(QUERIES[query]))


@pytest.mark.parametrize(
    "text",
    [
        "SELECT count(*) FROM lineitem JOIN orders ON l_orderkey = o_orderkey",
        "SELECT count(*) FROM orders WHERE o_orderkey NOT IN (SELECT c_custkey FROM customer WHERE c_name = 'x')",
        "SELECT count(*) FROM (SELECT * FROM customer WHERE c_name = 'x') FULL JOIN orders ON c_custkey = o_custkey",
        "SELECT count(*) FROM orders LEFT JOIN (SELECT * FROM customer WHERE c_name = 'x') ON c_custkey = o_custkey",
        "SELECT count(*) FROM lineitem, orders WHERE l_quantity = o_totalprice AND o_orderstatus = 'F'",
    ],
    ids=["no condition", "not in", "full join", "left side of a left join", "decimals"],
)
def test_no_filter_where_other_rows_matter_or_all_match(text: str) -> None:
    assert not {each for each in filters(planned(text)) if each[0] in ("orders", "lineitem")}


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("SELECT p_name, l_comment FROM part LEFT JOIN lineitem ON p_partkey = l_partkey", "part"),
        ("SELECT ps_comment, l_comment FROM lineitem RIGHT JOIN partsupp ON ps_partkey = l_partkey", "partsupp"),
        (
            "SELECT l_comment FROM lineitem WHERE EXISTS (SELECT * FROM partsupp WHERE ps_partkey = l_partkey)",
            "partsupp",
        ),
    ],
    ids=["left", "right", "semi"],
)
def test_a_large_side_with_texts_is_scanned_with_the_keys_of_one_without_conditions(text: str, other: str) -> None:
    assert ("lineitem", "l_partkey", other) in filters(planned(text))


@pytest.mark.parametrize(
    "text",
    [
        "SELECT p_name, l_quantity FROM part LEFT JOIN lineitem ON p_partkey = l_partkey",
        "SELECT p_name, l_comment FROM lineitem LEFT JOIN part ON p_partkey = l_partkey",
        "SELECT o_clerk, l_comment FROM orders FULL JOIN lineitem ON o_orderkey = l_orderkey",
        "SELECT p_name, l_comment FROM part JOIN lineitem ON p_partkey = l_partkey",
        "SELECT s_name, l_comment FROM lineitem RIGHT JOIN supplier ON s_suppkey = l_suppkey",
        "SELECT o_comment, ps_comment FROM partsupp LEFT JOIN orders ON ps_partkey = o_custkey",
    ],
    ids=[
        "no texts",
        "its own rows matter",
        "full join",
        "inner join",
        "the other side is broadcast",
        "not much larger",
    ],
)
def test_a_large_side_is_not_filtered_by_keys_without_conditions(text: str) -> None:
    assert not filters(planned(text))


def test_keys_of_a_smaller_table_do_not_make_a_table_be_read_again() -> None:
    plan = planned(QUERIES["q03"])
    scanned = [stage.table.name for stage in plan.stages if stage.table is not None]
    assert sorted(scanned) == ["customer", "lineitem", "orders"]


def test_dates_are_compared_with_midnight_as_dates() -> None:
    pipelines = [edge.node.pipeline for stage in planned(QUERIES["q04"]).stages for edge in stage.sends]
    compared = [each for each in pipelines if "o_orderdate" in each]
    assert compared
    assert not any("cast" in each or "00:00" in each for each in compared)


def test_condition_on_several_tables_filters_each_of_them() -> None:
    """(n1 is FRANCE and n2 is GERMANY) or the other way round: both are one of the two."""
    plan = planned(QUERIES["q07"])
    sent = [edge.node.pipeline for stage in plan.stages if stage.name == "scan nation" for edge in stage.sends]
    assert sent
    assert all("FRANCE" in each and "GERMANY" in each for each in sent)


SCHEMA = {
    "dim": {"k": "BIGINT", "name": "VARCHAR"},
    "mid": {"m": "BIGINT", "k": "BIGINT"},
    "fact": {"m": "BIGINT", "v": "BIGINT"},
    "note": {"m": "BIGINT", "t": "VARCHAR"},
}
DATA = {
    "dim": [[1, "a"], [2, "b"], [None, "a"]],
    "mid": [[m, m % 3 or None] for m in range(8)] + [[None, 1], [3, 1], [3, 2]],
    "fact": [[m % 9 if m % 5 else None, m] for m in range(40)],
    "note": [[m % 20 if m % 7 else None, f"note {m}"] for m in range(60)],
}
STATEMENTS = [
    "SELECT count(*), sum(v) FROM fact JOIN mid ON fact.m = mid.m JOIN dim ON mid.k = dim.k WHERE name = 'a'",
    "SELECT mid.m, (SELECT sum(v) FROM fact WHERE fact.m = mid.m) FROM mid WHERE k = 1",
    "SELECT m FROM mid WHERE k = 1 AND EXISTS (SELECT * FROM fact WHERE fact.m = mid.m)",
    "SELECT m FROM mid WHERE k = 1 AND NOT EXISTS (SELECT * FROM fact WHERE fact.m = mid.m AND v > 20)",
    "SELECT m FROM mid WHERE k = 2 AND m NOT IN (SELECT m FROM fact WHERE v > 20)",
    "SELECT v FROM fact WHERE m IN (SELECT m FROM fact GROUP BY m HAVING sum(v) > 90)",
    "SELECT mid.m, v FROM mid LEFT JOIN fact ON mid.m = fact.m WHERE k = 1",
    "SELECT mid.m, v FROM (SELECT * FROM mid WHERE k = 1) AS mid FULL JOIN fact ON mid.m = fact.m",
    "SELECT dim.k, v FROM dim, mid, fact WHERE dim.k = mid.k AND mid.m = fact.m AND "
    "((name = 'a' AND v < 9) OR (name = 'b' AND v > 30))",
    "SELECT mid.m, t FROM mid LEFT JOIN note ON mid.m = note.m",
    "SELECT mid.m, t FROM note JOIN mid ON mid.m = note.m",
    "SELECT t FROM note WHERE NOT EXISTS (SELECT * FROM mid WHERE mid.m = note.m)",
]


@pytest.mark.parametrize("text", STATEMENTS)
def test_answers_equal_duckdb(tmp_path: Path, text: str) -> None:
    both = Both(tmp_path, SCHEMA, DATA, row_weight=100_000)
    both.check(text)


LIBRARIES = 100_000_000
MANY = {
    "dim": [[1, "a"]],
    "mid": [[m, m % 2] for m in range(600)],
    "fact": [[m % 900, m] for m in range(2_000)],
    "note": [[1, "a"]],
}


@pytest.mark.parametrize(("fold_bytes", "dropped"), [(500, True), (50_000, False)])
def test_keys_that_exceed_the_memory_are_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fold_bytes: int, dropped: bool
) -> None:
    """The filter only saves work, so the job must not fail for the lack of memory."""
    skipped = []
    is_skipped = KeyFilter._is_skipped
    monkeypatch.setattr(KeyFilter, "_is_skipped", lambda *each: skipped.append(is_skipped(*each)) or skipped[-1])
    memory = MemoryBudget(LIBRARIES + 2 * FOLD_FACTOR * fold_bytes)
    both = Both(tmp_path, SCHEMA, MANY, row_weight=10_000, part_bytes=5_000, memory=memory)
    both.check("SELECT m FROM mid WHERE k = 1 AND EXISTS (SELECT * FROM fact WHERE fact.m = mid.m AND v > 500)")
    assert set(skipped) == {dropped}


def test_only_keys_that_no_join_needs_are_optional() -> None:
    plan = planned(f"{QUERIES['q05'].rstrip().rstrip(';')};\n{QUERIES['q18']}")
    filters_of = [
        node
        for stage in plan.stages
        for root in stage.roots
        for node in walk(root)
        if isinstance(node, KeyFilter) and isinstance(node.right, Receive)
    ]
    read = {node.right.edge for node in filters_of if isinstance(node.right, Receive)}
    joined = {
        node.right.edge
        for stage in plan.stages
        for root in stage.roots
        for node in walk(root)
        if isinstance(node, Join) and not isinstance(node, KeyFilter) and isinstance(node.right, Receive)
    }
    assert plan.optional_edges
    assert plan.optional_edges == read - joined
